/*
 * claims_push - gives the claims of the fleet's accounts to every server of the bus, through the
 * system account, and learns which claims they had.
 *
 *     count the servers -> look what they have -> make the claims -> send them, count who confirms
 *                                                                 -> the same for derived accounts
 *
 * The caller makes the claims of the fleet's account. Those of the accounts that are derived from
 * it follow (fleet/bus/accounts.h).
 *
 * nats-server 2.9 answers yes to claims of a foreign operator, stores them, and locks everybody out
 * at its next start: whoever makes claims calls claims_verify_account first.
 *
 * Memory: keys are borrowed; freed with its end, or with claims_push_free. Threads: the loop's.
 */
#ifndef FLEET_BUS_CLAIMS_PUSH_H
#define FLEET_BUS_CLAIMS_PUSH_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct accounts;
struct buf;
struct claims_push;
struct err;
struct nats_conn;
struct nats_nkey;

/* For servers to answer. */
#define CLAIMS_PUSH_COUNT_NS   (INT64_C(1) * 1000000000)
#define CLAIMS_PUSH_CONFIRM_NS (INT64_C(3) * 1000000000)
#define CLAIMS_PUSH_MAX        ((size_t)1 << 20)

struct claims_push_result {
    size_t servers;      /* that answered, or that the cluster knows of; 1 at least */
    size_t found;        /* that said what they have */
    size_t confirmed;    /* all of it */
    const char *problem; /* why nothing was sent; NULL: it was */
};

struct claims_push_options {
    struct nats_conn *conn; /* of the system account */
    const struct accounts *accounts;
    const struct nats_nkey *signer; /* of the operator; NULL: nothing is sent */
    /* What a server has, not verified. NULL: nobody needs to know. */
    void (*found)(void *self, struct str jwt);
    /* Append the claims to send. NULL: only look. */
    int (*make)(void *self, struct buf *out, struct err *err);
    void (*done)(void *self, const struct claims_push_result *result);
    void *self;
};

struct claims_push *claims_push_new(const struct claims_push_options *options, struct err *err);
/* `done` is no longer called. NULL is fine. */
void claims_push_free(struct claims_push *push);

#endif
