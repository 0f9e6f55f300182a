/*
 * state gate - decides from the results of its requisites whether a state may run.
 *
 * All requisites of a state must agree. They are checked in this order, and the first refusal
 * gives the reason:
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
 * Broken means failed, or skipped after a failure or a cancel, so skips spread through the graph.
 * A state skipped by its own unmet condition is a success without change. onfail requires a
 * failure, not a skip. A change of a watched state forces apply.
 *
 * Nothing here has effects; prereq, which must check the machine, is in runner.c.
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
    const uint32_t *position; /* by state number: index of its result */
    bool test;                /* a dry run: changed means would change */
};

struct state_gate {
    enum skip_reason skip; /* SKIP_NONE: it may run */
    bool forced;
    bool reacts;       /* reacts to a change of a watched state, now or in an earlier run */
    const char *cause; /* in words, or NULL */
};

/* `debts` are those of earlier runs: each counts as a change of its source. Texts are in the arena.
 *  */
struct state_gate state_gate_ask(struct arena *arena, const struct state_gate_view *view,
                                 uint32_t state, const struct owed_found *debts);

#endif
