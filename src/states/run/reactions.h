/*
 * reactions - who reacts to whom in a run, and what of it is still owed (states/run/owed.h).
 *
 *     reactions_open -> { reactions_find before a state is asked,
 *                         reactions_expect before it is applied,
 *                         reactions_conclude when it has changed what it could,
 *                         reactions_settle when it has reacted }... -> reactions_close
 *
 * Memory: the arena of the run. Threads: any, between open and close.
 */
#ifndef STATES_RUN_REACTIONS_H
#define STATES_RUN_REACTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "states/run/attempt.h"
#include "states/run/owed.h"

struct state_gate_view;
struct plan;
struct state_host;

struct reactions {
    const struct plan *plan;
    const char *const *names; /* by number of a state, without secrets: as in results */
    struct owed *owed;        /* NULL: there is no place for it */
    uint32_t *watcher_start;  /* count + 1 offsets into `watchers`: who reacts to a change */
    uint32_t *watchers;
};

int reactions_open(struct reactions *reactions, struct arena *arena, const struct state_host *host,
                   const struct plan *plan, const char *run_id, enum owed_drafts drafts,
                   struct err *err);
void reactions_close(struct reactions *reactions);

/* What the state owes from earlier runs; nothing if it no longer watches anything. */
void reactions_find(struct reactions *reactions, struct arena *arena, uint32_t state,
                    struct owed_found *ret_found);
/* Whoever watches this state owes a reaction from now on. */
int reactions_expect(struct reactions *reactions, uint32_t state, struct err *err);
/* And does not after all, unless something was changed. */
void reactions_conclude(struct reactions *reactions, uint32_t state, enum attempt_traces traces);
/* The state no longer owes anything: it has reacted. */
void reactions_settle(struct reactions *reactions, uint32_t state);
/* It had no reason to react, unless a watched state failed after it had changed something: then
 * that is still due. */
void reactions_waive(struct reactions *reactions, uint32_t number,
                     const struct state_gate_view *view);

#endif
