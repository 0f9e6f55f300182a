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

struct arena;
struct tree_keys;
struct tree_set;

/* Copies the set. Files that the bucket already has keep their keys; others get keys made from
 * their sums. */
void tree_canary_make(struct arena *arena, const struct tree_set *set, const struct tree_keys *keys,
                      struct tree_set *ret);
/* Is it the key of a canary file? */
bool tree_canary_is_file(struct str key);
/* May a round remove a key that its set does not have? A canary round removes canary files; a
 * general one its own, and those of a canary that has ended. */
bool tree_canary_may_remove(const struct tree_keys *keys, struct str key, bool is_canary);
/* The revision in its manifest; 0 when malformed. */
uint64_t tree_canary_revision(struct str manifest);

#endif
