/*
 * revert - reverts runs, even in a later process.
 *
 * A target is a run ID, or a reference: then all runs of it that are not reverted yet, newest
 * first, back to the state before the first one. Within a run, levels go backwards, and in a level
 * the last change comes first. For each state its module's revert gets the notes of apply, then
 * its paths are restored.
 *
 * A path changed by others since then is left alone, and its state fails, unless `force`. Reverted
 * states are marked beside the journal, so that the next revert finishes an interrupted one. A
 * damaged journal is reverted as far as it can be read; missing parts are a failed result, and the
 * run is kept unless `force`.
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
    bool force;         /* also revert paths that others have changed */
    bool has_run;       /* the target is the ID of a job or run on this machine */
};

/* Returns 0 when the revert took place; its outcome is in `ret_result`. With nothing to revert,
 * that has one unchanged result. */
int revert_run(struct arena *arena, struct state_host *host, const struct revert_options *options,
               const struct run_sink *sink, struct run_result *ret_result, struct err *err);

#endif
