/*
 * levels - the waves of a graph.
 *
 * A node that waits for nothing is in level 0; any other is one level after the
 * last of those it waits for. Nodes of a level do not wait for each other.
 *
 *     if (!levels_build(&arena, dag, &levels))
 *         ... levels.resolved of dag_count(dag); cycle_find says why
 *     for (uint32_t l = 0; l < levels.count; l++)
 *         levels_get(&levels, l)    nodes by number; the caller sorts as it likes
 *
 * Memory: belongs to the arena. Threads: one at a time, then any number of readers.
 */
#ifndef CORE_GRAPH_LEVELS_H
#define CORE_GRAPH_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct dag;

#define LEVELS_NONE UINT32_MAX

struct levels {
    uint32_t count;         /* number of levels */
    uint32_t resolved;      /* nodes that have a level */
    const uint32_t *of;     /* the level of each node; LEVELS_NONE on or after a cycle */
    const uint32_t *order;  /* the resolved nodes, by level, then by number */
    const uint32_t *starts; /* the start of each level in `order`; one more for the end */
};

/* For VEC_EACH (&nodes, node). */
struct level_nodes {
    const uint32_t *p;
    size_t n;
};

/* The levels of a sealed graph. False when a cycle leaves some nodes without a level; the others
 * still have theirs. */
bool levels_build(struct arena *arena, const struct dag *dag, struct levels *ret_levels);

struct level_nodes levels_get(const struct levels *levels, uint32_t level);

#endif
