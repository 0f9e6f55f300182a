/*
 * bound - a dry run that was stored, and that a run is held to.
 *
 *     bound_read -> bound_compare with a dry run of now -> state_host.bound for the run
 *
 * Before the run, a dry run must say the same of every state that would change, or
 * nothing begins. During the run only states that were expected to change may do so,
 * since changes may lead to more than was foreseen: one that has to change beyond that
 * fails instead.
 *
 * Memory: the arena. Threads: any, once it is read.
 */
#ifndef RUN_BOUND_H
#define RUN_BOUND_H

#include <stdbool.h>

#include "base/map.h"

struct arena;
struct diags;
struct err;
struct run_result;
struct value;

struct bound {
    struct map changes; /* by name of a state: its `diff` as a struct str */
};

/* From the record of a dry run of the machine `peel_id`, as --format json and yaml print it. */
int bound_read(struct arena *arena, const struct value *record, const char *peel_id,
               struct bound *ret, struct err *err);
/* May the state change? */
bool bound_has(const struct bound *bound, const char *name);
/* Report what a dry run of now would do beyond it, or differently. */
int bound_compare(const struct bound *bound, const struct run_result *now, struct diags *diags);

#endif
