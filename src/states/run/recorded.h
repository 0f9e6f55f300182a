/*
 * recorded - finds runs in the undo journals: by run ID, job ID or reference, and how far back.
 *
 * A run ID may be cut to RECORDED_ID_LEAST characters if only one run begins with them. A reference
 * of that name comes first.
 *
 * Memory: all of it in the arena. Threads: one at a time.
 */
#ifndef STATES_RUN_RECORDED_H
#define STATES_RUN_RECORDED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "states/undo/undo.h"

struct arena;
struct err;
struct secrets;
struct state_host;

#define RECORDED_ID_LEAST 4

/* Which of the runs that are not reverted yet. */
enum recorded_scope {
    RECORDED_LAST,  /* the newest one that changed something */
    RECORDED_ALL,   /* all */
    RECORDED_SINCE, /* the newest ones, up to the first one that began before `since` */
    RECORDED_TO,    /* those after the run `to` */
};

struct recorded {
    struct arena *arena;
    VEC(struct undo_run) list;     /* those wanted; newest first */
    VEC(struct undo_run) nameless; /* damaged: their references are unknown */
    VEC(struct undo_run) known;    /* all runs of the reference, reverted or not; newest first */
    VEC(struct undo_run) later;    /* others that are not reverted and came after one of `list` */
};

#define RECORDED_INIT(in)                                                                          \
    {                                                                                              \
        .arena = (in)                                                                              \
    }

struct recorded_want {
    const struct state_host *host;
    const char *target; /* a run ID, a reference, or several with commas; "": any reference */
    bool has_run;       /* the target is the ID of a job or run on this machine */
    enum recorded_scope scope; /* a run ID allows RECORDED_LAST only */
    int64_t since;             /* seconds since 1970 */
    const char *to;            /* a run ID */
};

/* Fills an empty struct. Fails with ERR_NOT_FOUND for a name that was never applied and is not a
 * state file, and for a run whose record was removed; with ERR_INVALID for an ID that several runs
 * begin with. */
int recorded_find(struct recorded *recorded, const struct recorded_want *wanted, struct err *err);

/* The run of the reference after `run` that found this version of the path, or NULL. */
const struct undo_run *recorded_find_newer(const struct recorded *recorded,
                                           const struct undo_run *run, const char *path,
                                           const char *mark);

/* The journal has no value marks: unless a parameter is declared secret, everything in the
 * arguments of a state with secrets counts as secret. */
void recorded_hide_secrets(struct secrets *secrets, const struct undo_entry *entry);

/* "a,b" means the runs of either reference, as in state.apply. */
bool recorded_has_ref(const struct undo_run *run, const char *refs);
/* When it began, in seconds since 1970. Of a run that was killed while it wrote its first record,
 * the ID tells. */
int64_t recorded_time(const struct undo_run *run);

#endif
