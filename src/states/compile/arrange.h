/*
 * arrange - the order of a plan: graph, levels, and the states of each level in turn.
 *
 * Memory: the arena. Threads: one at a time.
 */
#ifndef STATES_COMPILE_ARRANGE_H
#define STATES_COMPILE_ARRANGE_H

struct arena;
struct diags;
struct plan;
struct state_host;

/* Fill in the graph, the levels and the order of a plan that has its states and requisites. A
 * cycle is a mistake, reported with its members in order. */
int arrange_plan(struct arena *arena, struct plan *plan, const struct state_host *host,
                 struct diags *diags);

#endif
