/*
 * written - the order in which states of Salt files run, as edges of the graph.
 *
 * Salt numbers states as they are written (an include before its includer, `names` in their
 * order), sorts by `order`, and runs them one after the other; the requisites of a state that have
 * not run yet come before it. The result is a line through all such states. It is cut into windows
 * of neighbours that may run together (states/compile/touch.h): each state of a window waits for
 * the last of the window before (REQUISITE_ORDER), so a window is a level.
 *
 * States of the other dialect keep the level that their requisites give them.
 *
 * Memory: the arena. Threads: one at a time.
 */
#ifndef STATES_COMPILE_WRITTEN_H
#define STATES_COMPILE_WRITTEN_H

#include <stdbool.h>

struct arena;
struct dag;
struct plan;
struct plan_state;

/* The number that Salt sorts a state by. Negative ones count back from `cap`, which is greater than
 * all others. */
#define WRITTEN_CAP 1e12
double written_rank(const struct plan_state *state, double cap);

/* Is there a state with a written order? */
bool written_is_needed(const struct plan *plan);

/* Has the state a place in the written order? */
bool written_has(const struct plan_state *state);

/* Number the states (plan_state.position) of a plan without cycles, whose graph is `dag`. It has no
 * implied requisites but those that give states a place (states/compile/implied.h). */
void written_number(struct arena *arena, struct plan *plan, const struct dag *dag);
/* Add the edges between numbered states; `dag` has all requisites. */
void written_order(struct arena *arena, struct plan *plan, const struct dag *dag);

#endif
