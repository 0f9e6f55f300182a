/*
 * show - prints a plan as data or text, to inspect it before a run.
 *
 * Memory: the arena; texts of the plan are borrowed. Threads: any.
 */
#ifndef STATES_LOCAL_SHOW_H
#define STATES_LOCAL_SHOW_H

#include "core/data/value.h"

struct arena;
struct buf;
struct plan;

/* A list of its states in run order: name, file, level, arguments, requisites. */
struct value show_plan(struct arena *arena, const struct plan *plan);
/* "Level 0: a", with the requisites of each state. */
void show_levels(const struct plan *plan, struct buf *out);
/* "3 states in 2 levels, no mistakes found". */
void show_counts(const struct plan *plan, struct buf *out);

#endif
