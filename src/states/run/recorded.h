/*
 * recorded - the runs in the undo journals that a person means: by the id of a run or of its job,
 * or by what was applied.
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
    VEC(struct undo_run) nameless; /* damaged, so that nobody can know what they applied */
    VEC(struct undo_run) known;    /* all runs of the reference, reverted or not; newest first */
};

#define RECORDED_INIT(in)                                                                          \
    {                                                                                              \
        .arena = (in)                                                                              \
    }

struct recorded_want {
    const struct state_host *host;
    const char *target; /* a run id, a reference, or several with commas */
    bool has_run;       /* it is the id of a job or run that ran here */
};

/* Fill an empty one. Fails with ERR_NOT_FOUND for a name that nobody has applied and that is not a
 * state file, and for a run whose record is gone. */
int recorded_find(struct recorded *recorded, const struct recorded_want *wanted, struct err *err);

/* The run of the reference that came after `run` and found this version of the path; NULL: none
 * did. */
const struct undo_run *recorded_find_newer(const struct recorded *recorded,
                                           const struct undo_run *run, const char *path,
                                           const char *mark);

#endif
