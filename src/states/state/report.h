/*
 * report - the result of a run as a value, for JSON, YAML and the wire.
 *
 *     { peel_id, status, success, test?, results: [...], summary: {...}, error? }
 *
 * A result has name, level, changed, duration (nanoseconds), and diff, details, error, place,
 * skipped, skip_reason, handled_by and cause when there are any. Everything was masked before.
 *
 * Memory: the arena; shares texts with the result. Threads: any.
 */
#ifndef STATES_STATE_REPORT_H
#define STATES_STATE_REPORT_H

#include "core/data/value.h"

struct run_result;
struct state_result;

struct value report_run(struct arena *arena, const char *peel_id, const struct run_result *result);
struct value report_state(struct arena *arena, const struct state_result *result);
/* "web.zy:12:3", where a state that failed is declared; "": unknown, or it did not fail. */
const char *report_place(struct arena *arena, const struct state_result *result);
/* Places of the states that its requisites name, as a list; null: none. */
struct value report_needs(struct arena *arena, const struct state_result *result);
/* When there was no run: a compile error, a lock that was not available. */
struct value report_error(struct arena *arena, const char *peel_id, const char *error);

#endif
