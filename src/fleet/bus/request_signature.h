/*
 * request signature - who asks: the lines of a message's header that prove it, whatever servers it
 * came through.
 *
 *     Zester-Signature: 1 <time> <signature>     of subject, time and payload
 * (fleet/wire/signature.h) Zester-Jwt: <JWT>                          of an operator, whose key has
 * signed; a master signs with the key of the account and has none
 *
 * A JWT must be issued by the account, not have ended, not be revoked, and grant what is done:
 * publishing to that subject. A message is good for SIGNATURE_REQUEST_NS; one that an operator
 * signed is good once: the last REQUEST_SIGNATURE_MEMORY of that time are remembered. (A job is
 * done once anyway: fleet/peel/ledger.h.)
 *
 *     request_signature_add -> nats_publish ... request_signature_check
 *
 * Memory: the arena; the memory lives in its owner's struct. Threads: one.
 */
#ifndef FLEET_BUS_REQUEST_SIGNATURE_H
#define FLEET_BUS_REQUEST_SIGNATURE_H

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

#define REQUEST_SIGNATURE_SIGNATURE "Zester-Signature"
#define REQUEST_SIGNATURE_JWT       "Zester-Jwt"
#define REQUEST_SIGNATURE_JWT_MAX   ((size_t)16 << 10)
/* Requests of operators that are remembered; one more within the time is refused. */
#define REQUEST_SIGNATURE_MEMORY 1024

/* Who signs: an operator has both, a master the key alone. */
struct request_signature_signer {
    const struct nats_nkey *key; /* has a seed */
    const char *jwt;             /* NULL: it is the account */
};

/* Sign it as it will be published now; `is_direct`: an answer will be asked for. */
int request_signature_add(struct arena *arena, const struct request_signature_signer *signer,
                          bool is_direct, struct nats_pub *pub, struct err *err);

struct request_signature_memory {
    struct {
        unsigned char sum[SHA256_SIZE]; /* of its signature */
        int64_t until;                  /* bus_time; what is over is forgotten */
    } list[REQUEST_SIGNATURE_MEMORY];
};

/* Whom to believe. */
struct request_verifier {
    const struct nats_nkey *account;
    /* Does a key with a JWT that was issued then (seconds since 1970) no longer count? NULL: nobody
     * knows. */
    bool (*is_revoked)(void *self, const char *key, int64_t issued);
    void *self;
};

/* May this be done: has the account signed it, or an operator whom it lets? Fails with ERR_UNSAFE,
 * and the reason. */
int request_signature_check(struct request_signature_memory *memory,
                            const struct request_verifier *court, const struct nats_msg *msg,
                            struct err *err);

#endif
