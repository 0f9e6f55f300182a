/*
 * revoked - keys of operators that no longer count, as masters tell peels of them.
 *
 * Servers refuse such keys, and cut their connections. A server that is hostile does not, so a peel
 * that runs only what is signed has to know by itself. The list is signed with the account's key,
 * and is later than the one before it, whatever the clocks of masters say. It stands in the bucket
 * of state files, of which peels may read every key.
 *
 * A key belongs to one JWT, so it is revoked for good; it leaves the list when that has expired.
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
    struct value keys; /* public key to the second in which its credentials expire */
};

/* As it is stored. */
struct str revoked_sign(struct arena *arena, const struct ed25519_pair *signer,
                        const struct revoked_notice *list);
/* Fails with ERR_UNSAFE for what the account has not signed. */
int revoked_read(struct arena *arena, const unsigned char account[static ED25519_PUBLIC_SIZE],
                 struct str bytes, struct revoked_notice *ret_list, struct err *err);
bool revoked_has(const struct revoked_notice *list, const char *key);

#endif
