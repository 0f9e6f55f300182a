/*
 * reactions - the watchers of each state in a run, and their debts (states/run/owed.h).
 *
 *     reactions_open -> { reactions_find before a state is asked,
 *                         reactions_expect before it is applied,
 *                         reactions_conclude after it was applied,
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

/* The debts of a state from earlier runs; none if it no longer watches anything. */
void reactions_find(struct reactions *reactions, struct arena *arena, uint32_t state,
                    struct owed_found *ret_found);
/* The state is about to be applied: record a debt for each of its watchers. */
int reactions_expect(struct reactions *reactions, uint32_t state, struct err *err);
/* The state was applied: drop those debts unless it changed something. */
void reactions_conclude(struct reactions *reactions, uint32_t state, enum attempt_traces traces);
/* The state has reacted: settle its debts. */
void reactions_settle(struct reactions *reactions, uint32_t state);
/* It had no reason to react, unless a watched state failed after it had changed something: then
 * that is still due. */
void reactions_waive(struct reactions *reactions, uint32_t number,
                     const struct state_gate_view *view);

#endif
