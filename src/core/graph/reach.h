/*
 * reach - a set of nodes and everything connected to it.
 *
 * Along the edges: everything that depends on the set, near or far. Against them:
 * everything the set depends on.
 *
 *     struct reach *set = reach_new(&arena, dag_count(dag));
 *     reach_add(set, node)...
 *     reach_extend(set, dag, DAG_FORWARD, DAG_TYPE(RESTART));
 *     REACH_EACH (set, node)
 *         use(node);
 *
 * Memory: belongs to the arena; one bit a node. Threads: one at a time.
 */
#ifndef CORE_GRAPH_REACH_H
#define CORE_GRAPH_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/graph/dag.h"

struct arena;
struct reach;

#define REACH_END UINT32_MAX

/* An empty set for nodes below `size`. */
struct reach *reach_new(struct arena *arena, uint32_t size);
void reach_clear(struct reach *reach);

/* True when the node was not in the set before. */
bool reach_add(struct reach *reach, uint32_t node);
bool reach_has(const struct reach *reach, uint32_t node);
uint32_t reach_count(const struct reach *reach);

/* Add every node on a path of edges of these types from the set. */
void reach_extend(struct reach *reach, const struct dag *dag, enum dag_way way, uint32_t types);

/* The first node of the set that is `from` or more; REACH_END when there is none. */
uint32_t reach_next(const struct reach *reach, uint32_t from);

/* The nodes of the set, by number. */
#define REACH_EACH(reach, item)                                                                    \
    for (uint32_t item = reach_next((reach), 0); item != REACH_END;                                \
         item = reach_next((reach), item + 1))

#endif
