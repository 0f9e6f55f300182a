/*
 * keyring - the account's signing keys with which masters issue credentials of peels, as its claims
 * list them.
 *
 * Servers let in whoever a key of "signing_keys" has signed for. Which of these keys are ours, and
 * which of ours is in use, stands in a tag of the same claims, so that it is signed with them:
 *
 *     zester-keys:<generation>:<since>:<spread>:<key in use>,<older key>...
 *
 * Each change has a higher generation. So of two claims, both signed by the operator, the later
 * decision is known whatever their times are: claims are signed again all the time, for
 * revocations, by masters that may not have heard of it. Keys that others have added are left
 * alone.
 *
 * Where peels have an account of their own (fleet/bus/accounts.h), the fleet's claims have the tag
 * alone: a signing key is listed in the claims of peels, and may sign for nobody else. Keys that
 * the fleet listed before stay there until they are dropped.
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
    int64_t generation;     /* 0: there are no such keys, the account itself signs */
    int64_t since;          /* when the key in use came; seconds since 1970 */
    int64_t spread;         /* seconds in which peels get new credentials */
    struct param_strs keys; /* public keys; the first is in use, the others are still accepted */
};

/* From decoded claims of an account. A key that "signing_keys" ought to have and does not is left
 * out. Fails with ERR_INVALID for a tag that cannot be read. */
int keyring_read(struct arena *arena, const struct value *claims, struct keyring *ret_ring,
                 struct err *err);
/* From a JWT, its signature checked by the key that it names as its issuer. */
int keyring_read_jwt(struct arena *arena, struct str jwt, struct keyring *ret_ring,
                     struct err *err);

/* In place of what the claims, a tree that nobody shares, say of our keys. */
void keyring_write(struct arena *arena, const struct keyring *ring, struct value *claims);

/* Is it decided later? Two decisions of the same generation were made at once: all agree on one. */
bool keyring_is_newer(const struct keyring *ring, const struct keyring *other);
bool keyring_has(const struct keyring *ring, const char *key);
/* The key in use; NULL: there is none. */
const char *keyring_current(const struct keyring *ring);

/* What follows when a key comes into use, and when it is the only one. `key` is borrowed. Fails
 * with ERR_LIMIT when there are KEYRING_KEYS_MAX. */
int keyring_add(struct arena *arena, const struct keyring *ring, const char *key, int64_t now,
                int64_t spread, struct keyring *ret_ring, struct err *err);
struct keyring keyring_drop_older(const struct keyring *ring);

/* As it is kept beyond an arena. */
struct keyring keyring_copy(struct arena *arena, const struct keyring *ring);

#endif
