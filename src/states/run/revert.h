/*
 * revert - reverts what runs have applied, even in a later process.
 *
 * A target is the id of a run, or a reference: then every run that applied it and
 * was not reverted yet, newest first, so that what was there before the first comes
 * back. Within a run, levels go backwards, and in a level the last change first.
 * For each state its module's revert runs with what apply noted, then its paths get
 * their images back.
 *
 * A path that somebody else has changed since is left, and its state fails, unless
 * `force`. What was reverted is marked beside the journal, so that a revert that was cut
 * off is finished by the next one. A damaged journal is reverted as far as it can be read; what
 * is lost is a failed result, and the run is kept unless `force`.
 *
 * Memory: results are in the arena. Threads: as run_plan, whose lock it takes.
 */
#ifndef STATES_RUN_REVERT_H
#define STATES_RUN_REVERT_H

#include <stdbool.h>

struct arena;
struct err;
struct run_result;
struct run_sink;
struct state_host;

struct revert_options {
    const char *target; /* a run id, a reference, or several with commas */
    bool force;         /* also what somebody else has changed */
    bool has_run;       /* it is the id of a job or run that ran here */
};

/* Returns 0 when it took place, whatever the outcome, which is in `ret_result`. Nothing to revert
 * is one unchanged result that says so. */
int revert_run(struct arena *arena, struct state_host *host, const struct revert_options *options,
               const struct run_sink *sink, struct run_result *ret_result, struct err *err);

#endif
