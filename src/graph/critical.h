/*
 * critical - the chain of nodes that made the whole as long as it was.
 *
 * Of all paths along the edges the one whose durations add up to most: nothing
 * gets faster before one of its members does. Of equal paths, the one with the
 * smaller numbers.
 *
 * Memory: belongs to the arena. Threads: one at a time.
 */
#ifndef GRAPH_CRITICAL_H
#define GRAPH_CRITICAL_H

#include <stdint.h>

struct arena;
struct dag;
struct levels;

struct critical {
    const uint32_t *nodes; /* in order; none in an empty graph */
    uint32_t n;
    int64_t total;
};

/* The longest path over the nodes that have a level. `durations` has one for each node, none of
 * them negative; a sum that does not fit stays at the largest number. */
void critical_find(struct arena *arena, const struct dag *dag, const struct levels *levels,
                   const int64_t *durations, struct critical *ret_critical);

#endif
