/*
 * cycle - the cycles of a graph that has no order.
 *
 * A cycle is shown with its members in order, each before the next and the last
 * before the first, so that a user sees which edge to cut. It begins with its
 * smallest node. Cycles found together share no node: one mistake is reported once.
 * Among the ways around, a short one is preferred.
 *
 * Memory: belongs to the arena. Threads: one at a time.
 */
#ifndef CORE_GRAPH_CYCLE_H
#define CORE_GRAPH_CYCLE_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct dag;

struct cycle {
    const uint32_t *nodes;
    uint32_t n;
};

/* Up to `most` cycles of a sealed graph into `ret_cycles`; returns how many, 0 when the graph has
 * an order. */
size_t cycle_find(struct arena *arena, const struct dag *dag, size_t most,
                  struct cycle *ret_cycles);

#endif
