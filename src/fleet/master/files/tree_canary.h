/*
 * tree_canary - the file set of a canary (fleet/wire/canary.h): beside the general set, and storing
 * only the files that differ.
 *
 * Pure. Memory: the arena. Threads: one.
 */
#ifndef FLEET_MASTER_FILES_TREE_CANARY_H
#define FLEET_MASTER_FILES_TREE_CANARY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct tree_keys;
struct tree_set;

/* Copies the set. Files that the bucket already has keep their keys; others get keys made from
 * their sums. */
void tree_canary_make(struct arena *arena, const struct tree_set *set, const struct tree_keys *keys,
                      struct tree_set *ret);
/* Is it the key of a canary file? */
bool tree_canary_is_file(struct str key);
/* Keys of a bucket, which must not change meanwhile. */
struct tree_canary_removed {
    VEC(const char *) list;
};
/* The keys that a round with this set removes. A canary round removes canary files; a general one
 * its own, and those of a canary that has ended. */
void tree_canary_find_removed(const struct tree_keys *keys, const struct tree_set *set,
                              bool is_canary, struct tree_canary_removed *ret);
/* The revision in its manifest; 0 when malformed. */
uint64_t tree_canary_revision(struct str manifest);

#endif
