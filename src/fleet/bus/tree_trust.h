/*
 * tree_trust - whether a published tree is what masters published: who must have signed it, and
 * that it is not an older one than was accepted before.
 *
 * The signature that was accepted last is kept in a file for each place, so that a server, or
 * whoever has its disk, can neither offer an old tree again nor leave the signature away: once a
 * tree was signed, it must be. Removing the file accepts any tree, and TREE_TRUST_IGNORE always.
 *
 * Where a place has two trees, of which a machine uses one (fleet/wire/canary.h), the second one
 * must be signed when the first was, and later than it: it was made to follow it. So a canary that
 * has ended is not accepted again by a machine that has what was published since.
 *
 *     tree_trust_check -> the tree is used -> tree_trust_note
 *
 * Memory: texts are borrowed. Threads: any; both touch the disk.
 */
#ifndef FLEET_BUS_TREE_TRUST_H
#define FLEET_BUS_TREE_TRUST_H

#include <stdbool.h>

#include "core/base/str.h"
#include "fleet/nats/nkey.h"
#include "core/sys/fs.h"
#include "fleet/wire/signature.h"

struct err;

enum tree_trust_mode {
    TREE_TRUST_VERIFY,  /* a signature must be right; a tree that never had one needs none */
    TREE_TRUST_REQUIRE, /* every tree must be signed */
    TREE_TRUST_IGNORE,
};
#define TREE_TRUST_MODES "verify|require|ignore"

struct tree_trust {
    enum tree_trust_mode mode;
    /* Of the account, copied; none: nothing can be verified, which only TREE_TRUST_REQUIRE minds.
     */
    bool has_account;
    unsigned char account[ED25519_PUBLIC_SIZE];
    const char *seen; /* the folder of those files; NULL: any tree that was signed is accepted */
    enum fs_sync sync;
};

/* A published tree. */
struct tree_trust_offer {
    const char *place; /* fleet/wire/signature.h */
    const char *base;  /* the place of the tree that it follows; NULL: none */
    struct str manifest;
    struct str signature; /* a NULL view: there is none */
};

/* Fails with ERR_UNSAFE, and the reason. */
int tree_trust_check(const struct tree_trust *trust, const struct tree_trust_offer *offer,
                     struct err *err);
/* It is used from now on. */
int tree_trust_note(const struct tree_trust *trust, const struct tree_trust_offer *offer,
                    struct err *err);

#endif
