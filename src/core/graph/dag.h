/*
 * dag - an order of things: which must happen before which.
 *
 * Nodes are the numbers 0..count-1; the caller keeps what they stand for. An edge
 * says that one node comes before another. It has a type, a small number chosen by
 * the caller ("require", "watch"...); the same two nodes may have edges of several
 * types. Nothing here knows about states, services, threads or time.
 *
 *     dag_new -> dag_edge... -> dag_seal -> dag_after, dag_before
 *
 * After dag_seal the graph never changes, and everything else reads it: core/graph/levels.h
 * (waves), core/graph/cycle.h (why there are none), core/graph/reach.h (everything that depends on
 * a set, or that it depends on). All take time linear in nodes and edges, recurse nowhere, and give
 * the same answer for the same edges in any order.
 *
 * Memory: belongs to the arena. Threads: one until dag_seal, then any number.
 */
#ifndef CORE_GRAPH_DAG_H
#define CORE_GRAPH_DAG_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/vec.h"

struct arena;
struct dag;

/* Callers check this limit before they make a graph; exceeding it is a bug. */
#define DAG_NODES_MAX (1U << 24)
#define DAG_EDGES_MAX (1U << 28)
/* Types are 0..31, so that a set of them is a mask. */
#define DAG_TYPES      32
#define DAG_TYPE(type) (UINT32_C(1) << (type))
#define DAG_ALL_TYPES  UINT32_MAX

/* Along the edges, from what comes first to what comes later, or against them. */
enum dag_way { DAG_FORWARD, DAG_REVERSE, DAG_WAYS };

/* The other end of an edge. */
struct dag_link {
    uint32_t node;
    uint8_t type;
};

/* For VEC_EACH (&links, link); sorted by node, then by type. */
struct dag_links {
    const struct dag_link *p;
    size_t n;
};

/* A graph of `count` nodes and no edges. */
struct dag *dag_new(struct arena *arena, uint32_t count);

/* `before` comes before `after`. Duplicates are harmless. */
void dag_edge(struct dag *dag, uint32_t before, uint32_t after, uint8_t type);

/* End of edges. Cycles do not fail here: levels_build finds them. */
void dag_seal(struct dag *dag);

uint32_t dag_count(const struct dag *dag);
/* Different edges of a sealed graph. */
size_t dag_edge_count(const struct dag *dag);

/* The neighbours of a node in a sealed graph: the nodes it waits for, the nodes that wait for it,
 * or those in the given direction. */
struct dag_links dag_before(const struct dag *dag, uint32_t node);
struct dag_links dag_after(const struct dag *dag, uint32_t node);
struct dag_links dag_links(const struct dag *dag, uint32_t node, enum dag_way way);

/* The types of all edges from `before` to `after`, as a mask; 0 when there is none. */
uint32_t dag_types(const struct dag *dag, uint32_t before, uint32_t after);

#endif
