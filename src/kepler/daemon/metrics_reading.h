/*
 * metrics_reading - a search in stored metrics for a call, in a worker.
 *
 * The reply has `metrics`, a list of maps with `service` and the fields of kepler/monitor/metric.h
 * in order of time, and `cut` when there were more than fit in one reply.
 *
 *     metrics_reading_begin -> the reply of the call, or metrics_reading_free
 *
 * Memory: the heap. Threads: the loop's; the worker is internal.
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
/* The call has ended and ignores the result. NULL is fine. */
void metrics_reading_free(struct metrics_reading *reading);

/* For replies of the same form. */
struct value metrics_reading_value(struct arena *arena, const struct usage_metric *metric);
struct value metrics_reading_body(struct arena *arena, struct value_list *metrics, bool cut);

#endif
