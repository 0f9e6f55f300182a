/*
 * accumulators - texts that states of a run collect for a file, by the name of the collection.
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

/* A text that is there already is not added again. With NULL accumulators nothing happens. */
void accumulators_add(struct accumulators *accumulators, const char *file, const char *name,
                      struct str text);
/* What was collected for a file: a map of names to lists of texts, in the arena; NULL: nothing. */
struct value_map *accumulators_get(struct accumulators *accumulators, struct arena *arena,
                                   const char *file);

#endif
