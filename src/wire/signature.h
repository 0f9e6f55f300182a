/*
 * signature - what the account of a fleet has signed, so that a server in between can change
 * nothing of it: exactly which bytes that are, and whether a signature is theirs.
 *
 * A tree: the text that is signed has one line for each fact: the place of its manifest
 * ("state-files/_manifest"), its revision, the time, and the SHA-256 of the manifest, which has
 * that of each file. The time of each signature of a place is later than that of the one before it,
 * whatever the clocks of masters say, so it tells an old tree from a new one.
 *
 *     signature_sign_tree(...)  -> the value of FILESET_SIGNATURE
 *     signature_check_tree(...) -> the mark that was signed
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef WIRE_SIGNATURE_H
#define WIRE_SIGNATURE_H

#include <stdint.h>

#include "base/ed25519.h"
#include "base/str.h"
#include "data/record.h"

struct arena;
struct err;

/* --- trees -------------------------------------------------------------------------- */

/* Bytes of a stored signature. */
#define SIGNATURE_TREE_MAX 256

/* Which publication of a place it is. */
struct signature_mark {
    uint64_t revision;
    int64_t time; /* nanoseconds since 1970; 0: it is not signed */
};

/* As it is stored. */
struct signature_tree {
    uint64_t revision;
    int64_t time;
    struct str signature;
};
extern const struct record_type signature_tree_type;

/* The key beside a manifest: "_signature" of "_manifest", "states.signature.7" of
 * "states.manifest.7". */
const char *signature_key(struct arena *arena, const char *manifest_key);
/* The place of a manifest. */
const char *signature_place(struct arena *arena, const char *bucket, const char *manifest_key);

/* What is stored beside the manifest; `sum` is its SHA-256 as text. */
struct str signature_sign_tree(struct arena *arena,
                               const unsigned char seed[static ED25519_SEED_SIZE],
                               const char *place, const char *sum,
                               const struct signature_mark *mark);
/* Has the account signed the manifest with this sum for this place? Fails with ERR_UNSAFE. */
int signature_check_tree(const unsigned char account[static ED25519_PUBLIC_SIZE], const char *place,
                         const char *sum, struct str stored, struct signature_mark *ret_mark,
                         struct err *err);
/* The mark of a stored signature that was checked before. Fails with ERR_INVALID. */
int signature_read_mark(struct str stored, struct signature_mark *ret_mark, struct err *err);

#endif
