/*
 * request signature - headers that prove the sender of a message, whatever servers it passed.
 *
 *     Zester-Signature: 1 <time> <signature>    of subject, time, payload (fleet/wire/signature.h)
 *     Zester-Jwt: <JWT>                         of the operator whose key has signed; a master
 *                                               signs with the account's key and has none
 *
 * A JWT must be issued by the account, unexpired, not revoked, and permit publishing to the
 * subject. A message is valid for SIGNATURE_REQUEST_NS. One signed by an operator is accepted once:
 * the last REQUEST_SIGNATURE_MEMORY within that time are remembered. (A job runs once anyway:
 * fleet/peel/ledger.h.)
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
/* Remembered requests of operators; beyond that, requests are refused until one expires. */
#define REQUEST_SIGNATURE_MEMORY 1024

/* The signer: an operator has both, a master only the key. */
struct request_signature_signer {
    const struct nats_nkey *key; /* has a seed */
    const char *jwt;             /* NULL: the account */
};

/* Signs a message to publish now; `is_direct`: with a reply subject. */
int request_signature_add(struct arena *arena, const struct request_signature_signer *signer,
                          bool is_direct, struct nats_pub *pub, struct err *err);

struct request_signature_memory {
    struct {
        unsigned char sum[SHA256_SIZE]; /* of its signature */
        int64_t until;                  /* bus_time; expired entries are removed */
    } list[REQUEST_SIGNATURE_MEMORY];
};

/* Trusted signers. */
struct request_verifier {
    const struct nats_nkey *account;
    /* Is a key with a JWT issued at that time (seconds since 1970) revoked? NULL: not known. */
    bool (*is_revoked)(void *self, const char *key, int64_t issued);
    void *self;
};

/* Fails with ERR_UNSAFE and the reason unless the account signed the message, or an operator with
 * permission. */
int request_signature_check(struct request_signature_memory *memory,
                            const struct request_verifier *court, const struct nats_msg *msg,
                            struct err *err);

#endif
