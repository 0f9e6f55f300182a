/*
 * revoked - the list of revoked operator keys that masters publish for peels.
 *
 * Servers refuse such keys and close their connections. A hostile server does not, so a peel that
 * requires signatures checks for itself. The list is signed with the account's key, and its time
 * always increases, however far the clocks of masters differ. It is in the bucket of state files,
 * where peels may read every key.
 *
 * A key belongs to one JWT, so it is revoked for good; it is removed from the list once the JWT has
 * expired.
 *
 *     revoked_sign -> the value of REVOKED_KEY -> revoked_read -> revoked_has
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_WIRE_REVOKED_H
#define FLEET_WIRE_REVOKED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/ed25519.h"
#include "core/base/str.h"
#include "core/data/value.h"

struct arena;
struct err;

#define REVOKED_KEY "_revoked"
/* Bytes of a stored list, and keys in it. */
#define REVOKED_MAX      ((size_t)256 << 10)
#define REVOKED_KEYS_MAX 2048

struct revoked_notice {
    int64_t time;      /* nanoseconds since 1970 */
    struct value keys; /* public key to the expiry of its credentials, in seconds */
};

/* Returns the stored form. */
struct str revoked_sign(struct arena *arena, const struct ed25519_pair *signer,
                        const struct revoked_notice *list);
/* Fails with ERR_UNSAFE without the account's signature. */
int revoked_read(struct arena *arena, const unsigned char account[static ED25519_PUBLIC_SIZE],
                 struct str bytes, struct revoked_notice *ret_list, struct err *err);
bool revoked_has(const struct revoked_notice *list, const char *key);

#endif
