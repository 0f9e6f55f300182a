/*
 * tree_trust - checks that masters published a tree: its signature, and that it is not older than
 * the last one accepted.
 *
 * The last accepted signature is kept in a file for each place, so a server, or anyone with its
 * disk, can neither offer an old tree again nor omit the signature: once a tree was signed, it must
 * always be. Removing the file accepts any tree once, TREE_TRUST_IGNORE always.
 *
 * Where a place has two trees, of which a machine uses one (fleet/wire/canary.h), the second must
 * be signed if the first is, and later than it. So a machine does not accept an ended canary again
 * once it has a later publication.
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
    TREE_TRUST_VERIFY,  /* a signature must be valid; a tree that was never signed needs none */
    TREE_TRUST_REQUIRE, /* every tree must be signed */
    TREE_TRUST_IGNORE,
};
#define TREE_TRUST_MODES "verify|require|ignore"

struct tree_trust {
    enum tree_trust_mode mode;
    /* The account's key, copied; without it nothing can be verified, which only TREE_TRUST_REQUIRE
     * refuses. */
    bool has_account;
    unsigned char account[ED25519_PUBLIC_SIZE];
    const char *seen; /* the folder of those files; NULL: any signed tree is accepted */
    enum fs_sync sync;
};

/* A published tree. */
struct tree_trust_offer {
    const char *place; /* fleet/wire/signature.h */
    const char *base;  /* the place of the tree that it must follow; NULL: none */
    struct str manifest;
    struct str signature; /* a NULL view: unsigned */
};

/* Fails with ERR_UNSAFE, and the reason. */
int tree_trust_check(const struct tree_trust *trust, const struct tree_trust_offer *offer,
                     struct err *err);
/* Records the accepted tree. */
int tree_trust_note(const struct tree_trust *trust, const struct tree_trust_offer *offer,
                    struct err *err);

#endif
