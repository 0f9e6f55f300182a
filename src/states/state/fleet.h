/*
 * fleet - fleet jobs that states dispatch (modules/fleet/).
 *
 * A host (states/state/host.h) with a fleet supplies this one function. The command line does so
 * for `zester orchestrate`; no other host has a fleet.
 *
 * Memory: results are in the given arena. Threads: any number at once.
 */
#ifndef STATES_STATE_FLEET_H
#define STATES_STATE_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "core/data/value.h"

struct arena;
struct cancel;
struct err;

/* The scope of the revert when states fail. */
enum state_revert {
    STATE_REVERT_NONE,
    STATE_REVERT_MACHINE, /* each failed peel */
    STATE_REVERT_WAVE,    /* the whole wave when too many fail */
    STATE_REVERT_ALL,     /* the whole job */
};

struct state_job {
    const char *state;           /* the dispatching state: "fleet.state:deploy" */
    const char *target;          /* a target expression */
    const char *function;        /* "state.apply" */
    const char *id;              /* the positional argument; "": none */
    struct value args;           /* a map */
    int64_t timeout;             /* nanoseconds */
    const char *batch;           /* peels at once, "5" or "20%"; NULL: all */
    const struct cancel *cancel; /* ends the wait, or NULL */
    int64_t failures_max;        /* with a batch: stop after more failures than this */
    int64_t pause;               /* with a batch: nanoseconds between waves */
    const char *gate;            /* with a batch: must succeed after each wave, or NULL */
    enum state_revert revert;
    bool names_only; /* only resolve the target, dispatch nothing */
};

/* The return of one peel. */
struct state_job_peel {
    const char *peel;
    bool success, changed; /* in a dry run: would change */
    const char *error;     /* NULL: none */
};

struct state_job_end {
    const char *jid;
    const char *stopped;              /* why the waves stopped early, or NULL */
    const char *revert_jid;           /* the job that reverts it, or NULL */
    VEC(struct state_job_peel) peels; /* all targets, by name; empty: no match */
};

struct state_fleet {
    /* Dispatch the job and wait for it to finish, or only find its peels. Fails when the outcome is
     * unknown. */
    int (*run)(struct state_fleet *fleet, struct arena *arena, const struct state_job *job,
               struct state_job_end *ret_end, struct err *err);
};

#endif
