/*
 * claims_push - pushes the claims of the fleet's accounts to every server of the bus, through the
 * system account, and reads the claims they had.
 *
 *     count the servers -> read their claims -> make new claims -> send, count confirmations
 *                                                                 -> the same for derived accounts
 *
 * The caller makes the claims of the fleet's account. Those of derived accounts follow
 * (fleet/bus/accounts.h).
 *
 * nats-server 2.9 accepts claims of a foreign operator, stores them, and locks out every user at
 * its next start: `make` must call claims_verify_account first.
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

/* Time for servers to answer. */
#define CLAIMS_PUSH_COUNT_NS   (INT64_C(1) * 1000000000)
#define CLAIMS_PUSH_CONFIRM_NS (INT64_C(3) * 1000000000)
#define CLAIMS_PUSH_MAX        ((size_t)1 << 20)

struct claims_push_result {
    size_t servers;      /* that answered or are known to the cluster; at least 1 */
    size_t found;        /* that sent their claims */
    size_t confirmed;    /* all claims */
    const char *problem; /* why nothing was sent; NULL: sent */
};

struct claims_push_options {
    struct nats_conn *conn; /* of the system account */
    const struct accounts *accounts;
    const struct nats_nkey *signer; /* of the operator; NULL: send nothing */
    /* Claims on a server, unverified. NULL: not needed. */
    void (*found)(void *self, struct str jwt);
    /* Appends the claims to send. NULL: only read. */
    int (*make)(void *self, struct buf *out, struct err *err);
    void (*done)(void *self, const struct claims_push_result *result);
    void *self;
};

struct claims_push *claims_push_new(const struct claims_push_options *options, struct err *err);
/* `done` is no longer called. NULL is fine. */
void claims_push_free(struct claims_push *push);

#endif
