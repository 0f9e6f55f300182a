/*
 * listen - reactions at the end of a run, as in Salt.
 *
 * A state of a Salt file that listens to others runs in its normal position, whatever their
 * outcome. Each such state has a second one, its listener, in a level of its own after all others:
 * it is forced to apply if one of the targets has changed, and is otherwise not even shown.
 * Listeners run one after the other, in the order of the states that write `listen` or `listen_in`.
 *
 * Memory: the arena. Threads: one at a time.
 */
#ifndef STATES_COMPILE_LISTEN_H
#define STATES_COMPILE_LISTEN_H

#include <stdint.h>

struct arena;
struct plan_state;

/* The number of listening states. */
uint32_t listen_count(const struct plan_state *states, uint32_t count);

/* Append the listeners of `count` states, where there is room for listen_count. */
void listen_add(struct arena *arena, struct plan_state *states, uint32_t count);

#endif
