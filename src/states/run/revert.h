/*
 * revert - reverts runs, even in a later process.
 *
 * A target is a run ID, or a reference: then its last run, or more (states/run/recorded.h), newest
 * first. Within a run, levels go backwards, and in a level the last change comes first. For each
 * state its module's revert gets the notes of apply, then its paths are restored.
 *
 * When a later run that stays has changed the same things, nothing is reverted
 * (states/run/overlap.h). A path changed by others since then is left alone, and its state fails.
 * `force` reverts both. Reverted states are marked beside the journal, so that the next revert
 * finishes an interrupted one. A damaged journal is reverted as far as it can be read; missing
 * parts are a failed result, and the run is kept unless `force`.
 *
 * A dry run takes no lock, and describes what would be done.
 *
 * Memory: results are in the arena. Threads: as run_plan, whose lock it takes.
 */
#ifndef STATES_RUN_REVERT_H
#define STATES_RUN_REVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "states/run/recorded.h"

struct arena;
struct err;
struct run_result;
struct run_sink;
struct state_host;

struct revert_options {
    const char *target; /* a run ID, a reference, or several with commas; "": any reference */
    bool force;         /* also revert what others or later runs have changed */
    bool has_run;       /* the target is the ID of a job or run on this machine */
    enum recorded_scope scope;
    int64_t since;  /* of the scope: seconds since 1970 */
    const char *to; /* of the scope: a run ID */
    bool test;      /* a dry run */
    /* The result of a dry run: fail with ERR_BUSY if other runs would be reverted by now. */
    const struct run_result *agreed;
};

/* Returns 0 when the revert took place; its outcome is in `ret_result`. With nothing to revert,
 * that has one unchanged result. */
int revert_run(struct arena *arena, struct state_host *host, const struct revert_options *options,
               const struct run_sink *sink, struct run_result *ret_result, struct err *err);

#endif
