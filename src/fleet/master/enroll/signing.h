/*
 * signing - the account's signing keys (fleet/bus/keyring.h), and the one that issues peel
 * credentials.
 *
 * The keys come from account.jwt on disk, or from claims that another master or 'zester nats-auth
 * rotate' gave to the servers, whichever is later. Both are signed by the operator, and each change
 * has a higher generation, so a server cannot restore an older one. The seed comes only from
 * account-signing.seed, which is copied by hand. A seed that the account does not list is ignored;
 * without one the account key signs, which servers always accept.
 *
 *     signing_init -> signing_look, signing_learn... -> signing_key -> signing_done
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_ENROLL_SIGNING_H
#define FLEET_MASTER_ENROLL_SIGNING_H

#include <stdbool.h>

#include "core/base/arena.h"
#include "fleet/bus/keyring.h"
#include "core/http/health.h"
#include "fleet/nats/nkey.h"

struct signing {
    const char *dir;
    char account[NATS_NKEY_TEXT_SIZE];
    char problem[HEALTH_TEXT_MAX]; /* why this is not the current key; "": it is */
    /* for signing.c */
    struct arena arenas[2]; /* of both rings */
    struct keyring learned, ring;
    struct nats_nkey key;
    bool has_key;
};

/* `dir` is the folder of keys, and is borrowed. */
void signing_init(struct signing *signing, const char *dir, const struct nats_nkey *account);
void signing_done(struct signing *signing);

/* Read the files again: a new key may be present. */
void signing_look(struct signing *signing);
/* Account claims seen on a server. True: they have a later set of signing keys; signing_look was
 * called. */
bool signing_learn(struct signing *signing, struct str jwt);

/* The latest known set of keys. */
const struct keyring *signing_ring(const struct signing *signing);
/* The issuing key; NULL: the account key. */
const struct nats_nkey *signing_key(const struct signing *signing);
/* Is that the current key of an account with signing keys? */
bool signing_is_current(const struct signing *signing);

#endif
