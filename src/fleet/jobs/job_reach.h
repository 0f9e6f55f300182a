/*
 * job_reach - what a function can run besides itself, so that a policy about one function cannot be
 * walked around by another.
 *
 * Each function of the fleet has a class. The table names every function that there is: one that is
 * missing can run anything, until it has a row (tests/unit/fleet/jobs/test_job_reach.c compares it
 * with the modules and functions of the programs).
 *
 *     REACH_ITSELF     no other function, and no command that whoever asks names
 *     REACH_COMMANDS   a command that whoever asks names: all of these are one function
 *     REACH_STORED     what is stored says: trees of states, entries of the schedule
 *     REACH_NAMED      functions that its arguments name
 *     REACH_ANYTHING   a text of whoever asks, with states or templates
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

/* REACH_ANYTHING for one that has no row. */
enum job_reach_class job_reach_find(const char *function);
bool job_reach_has(const char *function);

/* What a job can run. */
struct reached {
    VEC(const char *) functions; /* its own, those that it names, those that masters run for it */
    bool commands;               /* of whoever asks */
    bool stored;                 /* what is stored says */
    bool anything;
};
void job_reach_trace(struct arena *arena, const struct job *job, struct reached *ret);

/* Does one of the globs match something that the job can run? */
bool job_reach_meets(const struct reached *reached, const struct param_strs *globs);

#endif
