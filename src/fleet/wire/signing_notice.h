/*
 * signing_notice - announces the key that issues peel credentials, so that peels with credentials
 * of another key renew them.
 *
 * It is in the bucket of state files, where peels may read every key, and signed with the account's
 * own key, which every peel knows.
 *
 *     signing_notice_sign -> the value of SIGNING_NOTICE_KEY -> signing_notice_read
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_WIRE_SIGNING_NOTICE_H
#define FLEET_WIRE_SIGNING_NOTICE_H

#include <stdint.h>

#include "core/base/ed25519.h"
#include "core/base/str.h"

struct arena;
struct err;

#define SIGNING_NOTICE_KEY "_signing_key"
#define SIGNING_NOTICE_MAX ((size_t)1024)

struct signing_notice {
    int64_t generation; /* increases */
    int64_t spread;     /* seconds over which peels spread their requests */
    const char *key;    /* public */
};

/* Returns the stored form. */
struct str signing_notice_sign(struct arena *arena, const struct ed25519_pair *signer,
                               const struct signing_notice *notice);
/* Fails with ERR_UNSAFE without the account's signature. */
int signing_notice_read(struct arena *arena,
                        const unsigned char account[static ED25519_PUBLIC_SIZE], struct str bytes,
                        struct signing_notice *ret_notice, struct err *err);

#endif
