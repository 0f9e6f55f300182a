/*
 * metrics_reading - a search in stored metrics for a call, done by a worker.
 *
 * The reply has `metrics`, a list of maps with `service` and the fields of kepler/monitor/metric.h
 * in the order of time, and `cut` when there were more than one answer holds.
 *
 *     metrics_reading_begin -> the reply of the call, or metrics_reading_free
 *
 * Memory: the heap. Threads: the loop's; the worker is its own affair.
 */
#ifndef KEPLER_DAEMON_METRICS_READING_H
#define KEPLER_DAEMON_METRICS_READING_H

#include <stdbool.h>

#include "core/data/value.h"

struct arena;
struct call;
struct usage_metric;
struct metric_search;
struct metrics_reading;

/* The search is copied. */
void metrics_reading_begin(struct call *call, const struct metric_search *search);
/* The call ends: nobody waits for the answer. NULL is fine. */
void metrics_reading_free(struct metrics_reading *reading);

/* For answers of the same form. */
struct value metrics_reading_value(struct arena *arena, const struct usage_metric *metric);
struct value metrics_reading_body(struct arena *arena, struct value_list *metrics, bool cut);

#endif
