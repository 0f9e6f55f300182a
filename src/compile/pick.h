/*
 * pick - a part of a run: some states, and all that they need.
 *
 * A state needs those that its requisites name, and those that look ahead to it
 * (`prereq`), which have to come before. What is left out is as if nobody had
 * declared it.
 *
 * Memory: the arena. Threads: one at a time.
 */
#ifndef COMPILE_PICK_H
#define COMPILE_PICK_H

#include <stdint.h>

struct arena;
struct output_list;
struct plan_state;
struct plan_targets;

/* Keep these and what they need, in the order they had, with the numbers that they have then; the
 * outputs follow. Returns how many there are. */
uint32_t pick_states(struct arena *arena, struct plan_state *states, uint32_t count,
                     const struct plan_targets *wanted, struct output_list *outputs);

#endif
