/*
 * warrant - who asks: the lines of a message's header that prove it, whatever servers it came
 * through.
 *
 *     Zester-Signature: 1 <time> <signature>     of subject, time and payload
 * (fleet/wire/signature.h) Zester-Jwt: <JWT>                          of an operator, whose key has
 * signed; a master signs with the key of the account and has none
 *
 * A JWT must be issued by the account, not have ended, not be revoked, and grant what is done:
 * publishing to that subject. A message is good for SIGNATURE_REQUEST_NS; one that an operator
 * signed is good once: the last WARRANT_MEMORY of that time are remembered. (A job is done once
 * anyway: fleet/peel/ledger.h.)
 *
 *     warrant_add -> nats_publish ... warrant_check
 *
 * Memory: the arena; the memory lives in its owner's struct. Threads: one.
 */
#ifndef FLEET_BUS_WARRANT_H
#define FLEET_BUS_WARRANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/sha256.h"
#include "core/base/str.h"

struct arena;
struct err;
struct nats_creds;
struct nats_msg;
struct nats_nkey;
struct nats_pub;

#define WARRANT_SIGNATURE "Zester-Signature"
#define WARRANT_JWT       "Zester-Jwt"
#define WARRANT_JWT_MAX   ((size_t)16 << 10)
/* Requests of operators that are remembered; one more within the time is refused. */
#define WARRANT_MEMORY 1024

/* Who signs: an operator has both, a master the key alone. */
struct warrant_signer {
    const struct nats_nkey *key; /* has a seed */
    const char *jwt;             /* NULL: it is the account */
};

/* Sign it as it will be published now; `is_direct`: an answer will be asked for. */
int warrant_add(struct arena *arena, const struct warrant_signer *signer, bool is_direct,
                struct nats_pub *pub, struct err *err);

struct warrant_memory {
    struct {
        unsigned char sum[SHA256_SIZE]; /* of its signature */
        int64_t until;                  /* bus_time; what is over is forgotten */
    } list[WARRANT_MEMORY];
};

/* Whom to believe. */
struct warrant_court {
    const struct nats_nkey *account;
    /* Does a key with a JWT that was issued then (seconds since 1970) no longer count? NULL: nobody
     * knows. */
    bool (*is_revoked)(void *self, const char *key, int64_t issued);
    void *self;
};

/* May this be done: has the account signed it, or an operator whom it lets? Fails with ERR_UNSAFE,
 * and the reason. */
int warrant_check(struct warrant_memory *memory, const struct warrant_court *court,
                  const struct nats_msg *msg, struct err *err);

#endif
