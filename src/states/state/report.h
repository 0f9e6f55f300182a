/*
 * report - the result of a run as a value, for JSON, YAML and the wire.
 *
 *     { peel_id, status, success, test?, converged?, results: [...], summary: {...}, error? }
 *
 * A result has name, level, changed, duration (nanoseconds), and optionally diff, details, value,
 * error, place, skipped, skip_reason, handled_by, cause and would_change_again. All texts are
 * already masked.
 *
 * Memory: the arena; shares texts with the result. Threads: any.
 */
#ifndef STATES_STATE_REPORT_H
#define STATES_STATE_REPORT_H

#include <stdbool.h>

#include "core/data/value.h"

struct run_result;
struct state_result;

struct value report_run(struct arena *arena, const char *peel_id, const struct run_result *result);
struct value report_state(struct arena *arena, const struct state_result *result);
/* What a function returned, or what a command wrote to its output, as it is and not as a text; of a
 * state, its details if one of them is more than a text. False: nothing. */
bool report_value(const struct state_result *result, struct value *ret);
/* The declaration of a failed state, "web.zy:12:3"; "": unknown, or not failed. */
const char *report_place(struct arena *arena, const struct state_result *result);
/* Positions of the states that its requisites name, as a list; null: none. */
struct value report_needs(struct arena *arena, const struct state_result *result);
/* The report when no run took place: a compile error, or the lock was not available. */
struct value report_error(struct arena *arena, const char *peel_id, const char *error);

#endif
