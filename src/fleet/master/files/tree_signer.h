/*
 * tree_signer - signs what this master publishes in a bucket (fleet/wire/signature.h), and knows
 * whether what is there is signed.
 *
 * Signatures of a bucket are in order: each is later than the last one that it had, be it of the
 * set of all or of a canary (fleet/wire/canary.h), also when the clock of this master is behind
 * that of the one before it.
 *
 *     tree_signer_note, for each entry of the bucket -> tree_signer_is_good, tree_signer_sign
 *
 * Memory: texts are borrowed. Threads: one.
 */
#ifndef FLEET_MASTER_FILES_TREE_SIGNER_H
#define FLEET_MASTER_FILES_TREE_SIGNER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/sha256.h"
#include "core/base/str.h"
#include "fleet/wire/signature.h"

struct arena;
struct nats_nkey;

/* For tree_signer.c: what the bucket has at a place. */
struct tree_signer_place {
    char manifest[SHA256_HEX_SIZE];
    unsigned char stored[SIGNATURE_TREE_MAX];
    size_t size;    /* of it; 0: there is none */
    uint64_t stamp; /* the revision of its entry */
};

struct tree_signer {
    const struct nats_nkey *account; /* has a seed; NULL: nothing is signed */
    const char *bucket;
    /* for tree_signer.c */
    struct tree_signer_place places[2]; /* of all, and of a canary */
    int64_t last;                       /* the time of the latest signature that was good */
};

/* A set as it is published. */
struct tree_signer_tree {
    const char *manifest; /* its key: FILESET_MANIFEST or CANARY_MANIFEST */
    const char *sum;      /* of it */
    uint64_t number;      /* of the publication */
};

/* An entry of the bucket; keys that are not ours are ignored. A NULL value: it is gone. */
void tree_signer_note(struct tree_signer *signer, struct str key, struct str value,
                      uint64_t revision);
/* Is it signed there? True when nobody signs. */
bool tree_signer_is_good(const struct tree_signer *signer, const struct tree_signer_tree *tree);
/* What must be stored under its signature_key, in the arena. */
struct str tree_signer_sign(const struct tree_signer *signer, struct arena *arena,
                            const struct tree_signer_tree *tree);

#endif
