/*
 * state gate - may a state run, after what became of those before it?
 *
 * All requisites of a state must agree. They are asked in this order, and the
 * first that says no gives the reason:
 *
 *     kind         says no when                               reason
 *     require      one of them is broken                      require_failed
 *     require_any  all of them are broken                     require_failed
 *     watch        one of them is broken                      require_failed
 *     watch_any    all of them are broken                     require_failed
 *     onchanges    one of them is broken                      require_failed
 *                  none of them changed                       onchanges_not_met
 *     onfail       none of them failed                        onfail_not_met
 *     onfail_all   one of them did not fail                   onfail_not_met
 *
 * Broken is failed, or skipped because something failed or was cut short, so skips go on through
 * the graph. A state skipped because its own condition was not met is a success without change.
 * onfail requires a failure, not a skip. A change of a watched state forces apply.
 *
 * Nothing here has effects; prereq, which must look at the machine, is in run.c.
 */
#ifndef STATES_RUN_STATE_GATE_H
#define STATES_RUN_STATE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "states/state/outcome.h"

struct arena;
struct owed_found;
struct plan;

/* The results so far. */
struct state_gate_view {
    const struct plan *plan;
    const char *const *names; /* by number of a state, without secrets */
    const struct state_result *results;
    const uint32_t *position; /* by number of a state: where its result is */
    bool test;                /* a dry run: what changed would change */
};

struct state_gate {
    enum skip_reason skip; /* SKIP_NONE: it may run */
    bool forced;
    bool reacts;       /* to a change of a watched state, now or in an earlier run */
    const char *cause; /* in words; NULL: nothing special */
};

/* `debts` are what the state owes from earlier runs: each counts like a change of what it was made
 * by. Texts are in the arena. */
struct state_gate state_gate_ask(struct arena *arena, const struct state_gate_view *view,
                                 uint32_t state, const struct owed_found *debts);

#endif
