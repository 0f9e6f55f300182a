/*
 * signing - what a master knows of the account's signing keys (fleet/bus/keyring.h), and the one
 * with which it issues credentials of peels.
 *
 * What is decided comes from account.jwt on its own disk, and from claims that another master or
 * 'zester nats-auth rotate' gave to the servers, whichever is later; both are signed by the
 * operator, and each change has a higher generation, so no server can bring an older one back. The
 * seed comes from account-signing.seed only, which is copied by hand. A seed that the account does
 * not list is not used, and without one the account itself signs, whom servers always believe.
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
    char problem[HEALTH_TEXT_MAX]; /* why it is not the key in use; "": it is */
    /* for signing.c */
    struct arena arenas[2]; /* of both rings */
    struct keyring learned, ring;
    struct nats_nkey key;
    bool has_key;
};

/* `dir` is the folder of keys, and is borrowed. */
void signing_init(struct signing *signing, const char *dir, const struct nats_nkey *account);
void signing_done(struct signing *signing);

/* Read the files again: a key may have been copied here. */
void signing_look(struct signing *signing);
/* Claims of the account that a server has, or was given. True: they have a later decision about
 * signing keys than was known; signing_look was called. */
bool signing_learn(struct signing *signing, struct str jwt);

/* The last decision that is known. */
const struct keyring *signing_ring(const struct signing *signing);
/* The key to issue with; NULL: the account's own. */
const struct nats_nkey *signing_key(const struct signing *signing);
/* Is that key the one in use, of an account that has signing keys? */
bool signing_is_current(const struct signing *signing);

#endif
