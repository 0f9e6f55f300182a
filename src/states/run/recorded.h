/*
 * recorded - finds runs in the undo journals by run ID, job ID or reference.
 *
 * Memory: all of it in the arena. Threads: one at a time.
 */
#ifndef STATES_RUN_RECORDED_H
#define STATES_RUN_RECORDED_H

#include <stdbool.h>

#include "core/base/vec.h"
#include "states/undo/undo.h"

struct arena;
struct err;
struct state_host;

struct recorded {
    struct arena *arena;
    VEC(struct undo_run) list;     /* not reverted yet; newest first */
    VEC(struct undo_run) nameless; /* damaged: their references are unknown */
    VEC(struct undo_run) known;    /* all runs of the reference, reverted or not; newest first */
};

#define RECORDED_INIT(in)                                                                          \
    {                                                                                              \
        .arena = (in)                                                                              \
    }

struct recorded_want {
    const struct state_host *host;
    const char *target; /* a run id, a reference, or several with commas */
    bool has_run;       /* the target is the ID of a job or run on this machine */
};

/* Fills an empty struct. Fails with ERR_NOT_FOUND for a name that was never applied and is not a
 * state file, and for a run whose record was removed. */
int recorded_find(struct recorded *recorded, const struct recorded_want *wanted, struct err *err);

/* The run of the reference after `run` that found this version of the path, or NULL. */
const struct undo_run *recorded_find_newer(const struct recorded *recorded,
                                           const struct undo_run *run, const char *path,
                                           const char *mark);

#endif
