/*
 * tree_canary - a set of files as a canary publishes it (fleet/wire/canary.h): beside the set that
 * all others have, and with only those files stored that differ.
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

/* The same files. Those that the bucket has under their own keys keep them, others have keys that
 * are made from their sums. */
void tree_canary_make(struct arena *arena, const struct tree_set *set, const struct tree_keys *keys,
                      struct tree_set *ret);
/* Is it a key of a file that only a canary has? */
bool tree_canary_is_file(struct str key);
/* May a round remove the key, when the set that it publishes does not have it? One of a canary
 * removes files of a canary; one of all its own, and what a canary that has ended left behind. */
bool tree_canary_may_remove(const struct tree_keys *keys, struct str key, bool is_canary);
/* Of its manifest; 0 when that cannot be read. */
uint64_t tree_canary_revision(struct str manifest);

#endif
