/*
 * job_reach - which functions a function can run, so that it cannot be used to bypass a policy.
 *
 * Each function has a class. The table names every function; a missing one counts as REACH_ANYTHING
 * (tests/unit/fleet/jobs/test_job_reach.c compares the table with the modules and functions of the
 * programs).
 *
 *     REACH_ITSELF     no other function, and no command from the caller
 *     REACH_COMMANDS   a command from the caller: all of these count as one function
 *     REACH_STORED     stored trees of states, entries of the schedule
 *     REACH_NAMED      functions named in its arguments
 *     REACH_ANYTHING   states or templates from the caller
 *
 * Some arguments lead further with any function: guards run commands, templates call functions,
 * fire_event sends an event.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_JOBS_JOB_REACH_H
#define FLEET_JOBS_JOB_REACH_H

#include <stdbool.h>

#include "core/base/vec.h"

struct arena;
struct job;
struct param_strs;

enum job_reach_class {
    REACH_ITSELF,
    REACH_COMMANDS,
    REACH_STORED,
    REACH_NAMED,
    REACH_ANYTHING,
};

/* Stands for all of REACH_COMMANDS, and for what REACH_ANYTHING can do. */
#define REACH_COMMAND "cmd.run"

/* REACH_ANYTHING for a function without a row. */
enum job_reach_class job_reach_find(const char *function);
bool job_reach_has(const char *function);

/* Everything a job can run. */
struct reached {
    VEC(const char *) functions; /* its own, named ones, those that masters run for it */
    bool commands;               /* from the caller */
    bool stored;                 /* stored states or entries */
    bool anything;
};
void job_reach_trace(struct arena *arena, const struct job *job, struct reached *ret);

/* Do the globs match a function that the job can run? */
bool job_reach_meets(const struct reached *reached, const struct param_strs *globs);

#endif
