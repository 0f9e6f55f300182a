/*
 * accumulators - texts that the states of a run collect for a file, by collection name.
 *
 * file.accumulated adds to them; file.managed and file.blockreplace of the same file use them.
 *
 *     accumulators_new -> accumulators_add... -> accumulators_get -> accumulators_free
 *
 * Threads: any.
 */
#ifndef STATES_STATE_ACCUMULATORS_H
#define STATES_STATE_ACCUMULATORS_H

#include "core/base/str.h"
#include "core/data/value.h"

struct accumulators;
struct arena;

struct accumulators *accumulators_new(void);
/* NULL is fine. */
void accumulators_free(struct accumulators *accumulators);

/* Add a text once; duplicates are ignored. NULL accumulators: does nothing. */
void accumulators_add(struct accumulators *accumulators, const char *file, const char *name,
                      struct str text);
/* The texts of a file as a map of names to lists, in the arena; NULL: none. */
struct value_map *accumulators_get(struct accumulators *accumulators, struct arena *arena,
                                   const char *file);

#endif
