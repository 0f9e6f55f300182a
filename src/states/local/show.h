/*
 * show - a plan as data and as text, for those who want to see it before it runs.
 *
 * Memory: the arena; texts of the plan are borrowed. Threads: any.
 */
#ifndef STATES_LOCAL_SHOW_H
#define STATES_LOCAL_SHOW_H

#include "core/data/value.h"

struct arena;
struct buf;
struct plan;

/* A list of its states in the order of the run: name, file, level, arguments, requisites. */
struct value show_plan(struct arena *arena, const struct plan *plan);
/* "Level 0: a", with the requisites of each state. */
void show_levels(const struct plan *plan, struct buf *out);
/* "3 states in 2 levels, no mistakes found". */
void show_counts(const struct plan *plan, struct buf *out);

#endif
