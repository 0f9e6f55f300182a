/*
 * fleet - jobs for the machines of a fleet, as states ask for them (modules/fleet/).
 *
 * A host (states/state/host.h) that has a fleet brings a table of one function; the command line
 * fills it for `zester orchestrate`. Everywhere else there is none.
 *
 * Memory: what comes back is in the arena that was handed in. Threads: any number at once.
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

/* What is reverted when states fail. */
enum state_revert {
    STATE_REVERT_NONE,
    STATE_REVERT_MACHINE, /* each peel where one fails */
    STATE_REVERT_WAVE,    /* and all of the wave when too many fail */
    STATE_REVERT_ALL,     /* and all of the job */
};

struct state_job {
    const char *state;           /* who asks: "fleet.state:deploy" */
    const char *target;          /* an expression */
    const char *function;        /* "state.apply" */
    const char *id;              /* the positional argument; "": none */
    struct value args;           /* a map */
    int64_t timeout;             /* nanoseconds */
    const char *batch;           /* peels that are busy at once, "5" or "20%"; NULL: all */
    const struct cancel *cancel; /* ends the wait; NULL: nothing does */
    int64_t failures_max;        /* with a batch: more failed peels, and the rest is not begun */
    int64_t pause;               /* with a batch: nanoseconds between two waves */
    const char *gate;            /* with a batch: what has to succeed after each; NULL: nothing */
    enum state_revert revert;
    bool names_only; /* dispatch nothing: who is meant? */
};

/* What a peel answered. */
struct state_job_peel {
    const char *peel;
    bool success, changed; /* in a dry run: would change */
    const char *error;     /* NULL: none */
};

struct state_job_end {
    const char *jid;
    const char *stopped;              /* why its waves did not go on; NULL: they did */
    const char *revert_jid;           /* what reverts them; NULL: nothing does */
    VEC(struct state_job_peel) peels; /* all targets, by name; none: the target means nobody */
};

struct state_fleet {
    /* Dispatch the job and wait for its end, or only find its peels. Fails when it cannot be
     * known. */
    int (*run)(struct state_fleet *fleet, struct arena *arena, const struct state_job *job,
               struct state_job_end *ret_end, struct err *err);
};

#endif
