/*
 * pick - selects states of a run with their requisites.
 *
 * A state needs its requisites, and states that have a `prereq` on it, which come before it. The
 * rest is treated as not declared.
 *
 * Memory: the arena. Threads: one at a time.
 */
#ifndef STATES_COMPILE_PICK_H
#define STATES_COMPILE_PICK_H

#include <stdint.h>

struct arena;
struct output_list;
struct plan_state;
struct plan_targets;

/* Keep these states and what they need, in order; renumber them and their outputs. Returns the new
 * count. */
uint32_t pick_states(struct arena *arena, struct plan_state *states, uint32_t count,
                     const struct plan_targets *wanted, struct output_list *outputs);

#endif
