/*
 * signing_notice - which key now issues the credentials of peels, as masters tell peels of it, so
 * that those with credentials of another key get new ones.
 *
 * It stands in the bucket of state files, of which peels may read every key, signed with the
 * account's own key, which each of them knows.
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
    int64_t generation; /* a later one is higher */
    int64_t spread;     /* seconds in which all peels ask */
    const char *key;    /* public */
};

/* As it is stored. */
struct str signing_notice_sign(struct arena *arena, const struct ed25519_pair *signer,
                               const struct signing_notice *notice);
/* Fails with ERR_UNSAFE for what the account has not signed. */
int signing_notice_read(struct arena *arena,
                        const unsigned char account[static ED25519_PUBLIC_SIZE], struct str bytes,
                        struct signing_notice *ret_notice, struct err *err);

#endif
