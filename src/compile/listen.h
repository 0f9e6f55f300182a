/*
 * listen - reactions at the end of a run, as Salt has them.
 *
 * A state of a Salt file that listens to others runs in its own place, whatever became of them.
 * For each such state there is another one, its listener, in a level behind all others: it is
 * applied by force when one of those listened to has changed, and is otherwise not even shown.
 *
 * Memory: the arena. Threads: one at a time.
 */
#ifndef COMPILE_LISTEN_H
#define COMPILE_LISTEN_H

#include <stdint.h>

struct arena;
struct plan_state;

/* How many states listen. */
uint32_t listen_count(const struct plan_state *states, uint32_t count);

/* Put the listeners of `count` states behind them, where there is room for listen_count. */
void listen_add(struct arena *arena, struct plan_state *states, uint32_t count);

#endif
