/*
 * walk - what is ready next.
 *
 * Each node carries a count of what it still waits for; when the count reaches
 * zero the node is ready. Ready nodes come out in the order in which they became
 * ready, those that became ready together by number. Against the edges (DAG_REVERSE)
 * a node waits for those that depend on it: the order of stopping.
 *
 *     walk = walk_new(&arena, dag, DAG_FORWARD, NULL);
 *     while (walk_next(walk, &node))
 *         start(node);                  any number of them at once
 *     ... when a node is done: walk_complete(walk, node), then ask again
 *
 * A walk may be limited to a set of nodes; edges to others do not count then. On a
 * graph with a cycle its members never become ready: build the levels first.
 *
 * Memory: belongs to the arena; nothing is allocated after walk_new. Threads: one at
 * a time for each walk; any number of walks may share one sealed graph.
 */
#ifndef GRAPH_WALK_H
#define GRAPH_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/dag.h"

struct arena;
struct reach;
struct walk;

/* A walk over all nodes, or over those of `only`, which is borrowed and may not change. */
struct walk *walk_new(struct arena *arena, const struct dag *dag, enum dag_way way,
                      const struct reach *only);
/* Begin again. */
void walk_reset(struct walk *walk);

/* Take the node that has been ready longest. False when none is ready now: the caller waits for a
 * node it took earlier, or all are complete. */
bool walk_next(struct walk *walk, uint32_t *ret_node);

/* A taken node is done: free those that waited only for it. */
void walk_complete(struct walk *walk, uint32_t node);

/* How many edges of the walk a node still waits for. */
uint32_t walk_waits(const struct walk *walk, uint32_t node);
/* Nodes that are ready and not yet taken; taken and not yet complete; not yet complete in all. */
uint32_t walk_ready(const struct walk *walk);
uint32_t walk_taken(const struct walk *walk);
uint32_t walk_left(const struct walk *walk);
bool walk_is_finished(const struct walk *walk);

#endif
