/*
 * tree_signer - signs this master's publications in a bucket (fleet/wire/signature.h), and checks
 * existing signatures.
 *
 * Signature times in a bucket always rise, across the general set and canaries
 * (fleet/wire/canary.h), even when this master's clock is behind the previous one's.
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

/* For tree_signer.c: the content of one place in the bucket. */
struct tree_signer_place {
    char manifest[SHA256_HEX_SIZE];
    unsigned char stored[SIGNATURE_TREE_MAX];
    size_t size;    /* its size; 0: none */
    uint64_t stamp; /* the revision of its entry */
};

struct tree_signer {
    const struct nats_nkey *account; /* has a seed; NULL: nothing is signed */
    const char *bucket;
    /* for tree_signer.c */
    struct tree_signer_place places[2]; /* general, and canary */
    int64_t last;                       /* time of the latest valid signature */
};

/* A published set. */
struct tree_signer_tree {
    const char *manifest; /* its key: FILESET_MANIFEST or CANARY_MANIFEST */
    const char *sum;      /* its sum */
    uint64_t number;      /* of the publication */
};

/* Notes an entry of the bucket; other keys are ignored. A NULL value: removed. */
void tree_signer_note(struct tree_signer *signer, struct str key, struct str value,
                      uint64_t revision);
/* Is it signed in the bucket? True when signing is off. */
bool tree_signer_is_good(const struct tree_signer *signer, const struct tree_signer_tree *tree);
/* Returns the value for its signature_key, in the arena. */
struct str tree_signer_sign(const struct tree_signer *signer, struct arena *arena,
                            const struct tree_signer_tree *tree);

#endif
