/*
 * signing_keys - the account's signing keys (fleet/bus/keyring.h) as the files of a folder of keys
 * and the servers have them, and how they change.
 *
 * Every step leaves a fleet that works, and can be done again: a new seed is on disk before servers
 * hear of its key, and in use after all of them have confirmed it. What is sent is made from the
 * later of what is on disk and what servers have, with the revocations of both, and verified as
 * servers ought to.
 *
 *     signing_keys_open -> signing_keys_rotate | signing_keys_finish -> signing_keys_close
 *
 * Memory: the arena. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_KEYS_SIGNING_KEYS_H
#define COMMANDS_CLI_FLEET_KEYS_SIGNING_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/bus/accounts.h"
#include "fleet/bus/keyring.h"
#include "core/data/value.h"
#include "fleet/nats/nkey.h"

struct arena;
struct err;
struct fleet;
struct fleet_target;

struct signing_keys {
    struct arena *arena;
    const char *dir;
    struct keyring ring;     /* the last decision */
    size_t servers, current; /* that there are, and that have that decision */
    struct accounts accounts;
    struct accounts_border border; /* peels have an account of their own */
    int64_t all_before;            /* older credentials of the fleet's account are refused */
    bool has_next;                 /* a rotation has not ended */
    /* for signing_keys.c */
    struct nats_nkey signer;
    struct str operator_jwt, account_jwt;
    struct value revocations;
    struct fleet *fleet;
    bool is_done;
    const struct keyring *wanted;
    const char *made;
    size_t confirmed;
    const char *problem;
};

/* Read the files, connect with sys.creds of the folder, and look what servers have. */
int signing_keys_open(struct arena *arena, const char *dir, const struct fleet_target *target,
                      struct signing_keys *ret_keys, struct err *err);
void signing_keys_close(struct signing_keys *keys);

/* A new key, or the one that was begun with, comes into use. Fails, and the old one stays in use,
 * unless every server has confirmed it. `spread` in seconds. */
int signing_keys_rotate(struct signing_keys *keys, int64_t spread, struct err *err);
/* The older keys are no longer accepted. Succeeds when a server has confirmed it: `current` says
 * how many, and masters tell the others. */
int signing_keys_finish(struct signing_keys *keys, struct err *err);

/* Tell servers what is in the folder, with its revocations, unless they know something later. */
int signing_keys_push(struct signing_keys *keys, struct err *err);

/* The public key of the peels' account; NULL: they live in the fleet's. */
const char *signing_keys_peel_account(const struct signing_keys *keys);
/* Are credentials of the fleet's account accepted that were issued before peels had their own? */
bool signing_keys_has_unmoved(const struct signing_keys *keys);
/* Is the seed of the key in use in the folder? */
bool signing_keys_has_seed(const struct signing_keys *keys);

#endif
