/*
 * keyring - the signing keys that masters use to issue peel credentials, as listed in the account's
 * claims.
 *
 * Servers accept users signed by any key in "signing_keys". A tag of the same claims, and so signed
 * with them, says which of these keys are ours, and which one is in use:
 *
 *     zester-keys:<generation>:<since>:<spread>:<key in use>,<older key>...
 *
 * Each change has a higher generation. So of two claims signed by the operator, the generation
 * shows the later decision. Their times do not: masters that have not seen the change sign claims
 * again for revocations. Keys added by others are left alone.
 *
 * Where peels have their own account (fleet/bus/accounts.h), the fleet's claims have only the tag:
 * a signing key is listed in the peels' claims and may sign for peels only. Keys that the fleet
 * listed before stay there until they are dropped.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_BUS_KEYRING_H
#define FLEET_BUS_KEYRING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/data/params.h"

struct arena;
struct err;
struct value;

#define KEYRING_KEYS_MAX 8

struct keyring {
    int64_t generation;     /* 0: no such keys, the account itself signs */
    int64_t since;          /* start of the key in use; seconds since 1970 */
    int64_t spread;         /* seconds over which peels renew their credentials */
    struct param_strs keys; /* public keys; the first in use, the others still accepted */
};

/* Reads decoded claims of an account. Leaves out keys that are missing from "signing_keys". Fails
 * with ERR_INVALID for a malformed tag. */
int keyring_read(struct arena *arena, const struct value *claims, struct keyring *ret_ring,
                 struct err *err);
/* Reads a JWT and checks its signature with the key of its issuer. */
int keyring_read_jwt(struct arena *arena, struct str jwt, struct keyring *ret_ring,
                     struct err *err);

/* Replaces our keys in the claims, a tree that must not be shared. */
void keyring_write(struct arena *arena, const struct keyring *ring, struct value *claims);

/* Is it the later decision? Two concurrent decisions have the same generation; all masters choose
 * the same one. */
bool keyring_is_newer(const struct keyring *ring, const struct keyring *other);
bool keyring_has(const struct keyring *ring, const char *key);
/* The key in use; NULL: none. */
const char *keyring_current(const struct keyring *ring);

/* The next keyring, with `key` in use, or as the only key. `key` is borrowed. Fails with ERR_LIMIT
 * at KEYRING_KEYS_MAX. */
int keyring_add(struct arena *arena, const struct keyring *ring, const char *key, int64_t now,
                int64_t spread, struct keyring *ret_ring, struct err *err);
struct keyring keyring_drop_older(const struct keyring *ring);

/* A copy that outlives the arena of the original. */
struct keyring keyring_copy(struct arena *arena, const struct keyring *ring);

#endif
