/*
 * guard - commands and functions that decide whether a state runs.
 *
 * onlyif: all must succeed; unless: none may. check_cmd runs after apply and must succeed. A
 * command that cannot be started, or a function that fails, is an error, not an answer.
 *
 * Threads: any.
 */
#ifndef STATES_RUN_GUARD_H
#define STATES_RUN_GUARD_H

#include <stdbool.h>

struct err;
struct plan_state;
struct state_run;

/* The report of a state whose guards are not met. */
#define GUARD_NOT_MET "skipped: guard condition not met"

/* Do onlyif and unless let the state run? */
int guard_ask(struct state_run *run, const struct plan_state *state, bool *ret_met,
              struct err *err);
/* Run check_cmd after apply. */
int guard_check(struct state_run *run, const struct plan_state *state, struct err *err);

#endif
