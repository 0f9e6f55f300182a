/*
 * tree_signer - signs what this master publishes in a bucket (wire/signature.h), and knows whether
 * what is there is signed.
 *
 * Signatures of a place are in order: each is later than the last one that the bucket had, also
 * when the clock of this master is behind that of the one before it.
 *
 *     tree_signer_note, for each entry of the bucket -> tree_signer_is_good, tree_signer_sign
 *
 * Memory: texts are borrowed. Threads: one.
 */
#ifndef MASTER_TREE_SIGNER_H
#define MASTER_TREE_SIGNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sha256.h"
#include "base/str.h"
#include "wire/signature.h"

struct arena;
struct nats_nkey;

struct tree_signer {
    const struct nats_nkey *account; /* has a seed; NULL: nothing is signed */
    const char *bucket;
    /* for tree_signer.c: what the bucket has */
    char manifest[SHA256_HEX_SIZE];
    unsigned char stored[SIGNATURE_TREE_MAX];
    size_t size;    /* of it; 0: there is none */
    uint64_t stamp; /* the revision of its entry */
    int64_t last;   /* the time of the latest signature that was good */
};

/* An entry of the bucket; keys that are not ours are ignored. A NULL value: it is gone. */
void tree_signer_note(struct tree_signer *signer, struct str key, struct str value,
                      uint64_t revision);
/* Is the manifest with this sum signed there, as publication `number`? True when nobody
 * signs. */
bool tree_signer_is_good(const struct tree_signer *signer, const char *sum, uint64_t number);
/* What must be stored as FILESET_SIGNATURE, in the arena. */
struct str tree_signer_sign(const struct tree_signer *signer, struct arena *arena, const char *sum,
                            uint64_t number);

#endif
