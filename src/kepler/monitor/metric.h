/*
 * metric - resource usage of a service at one moment: CPU and memory of all its processes.
 *
 * Metrics of a config are stored as lines of a log store (kepler/logs/log_store.h): the service is
 * the source of the line, and the line is the record as JSON. Users and programs see the same
 * names:
 *
 *     {"timestamp":1700000000000,"cpu_percent":12.5,"memory_rss":4096,"memory_vss":8192,"pids":[7]}
 *
 * Memory: the arena given. Threads: any.
 */
#ifndef KEPLER_MONITOR_METRIC_H
#define KEPLER_MONITOR_METRIC_H

#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/value.h"

struct arena;
struct buf;
struct err;
struct log_line;
struct log_query;

/* Maximum process ids in one metric; the sums cover all processes. */
#define METRIC_PIDS_MAX 256

struct usage_metric {
    const char *service;
    int64_t timestamp;              /* milliseconds since 1970 */
    double cpu_percent;             /* 100 is one processor */
    int64_t memory_rss, memory_vss; /* bytes */
    struct value pids;              /* a list of process ids */
};

struct usage_metrics {
    VEC(struct usage_metric) list;
};

/* Prints one line with its end. */
int metric_print(const struct usage_metric *metric, struct buf *out, struct err *err);
/* False: not a metric. Borrows from the line. */
bool metric_read(struct arena *arena, const struct log_line *line, struct usage_metric *ret_metric);
/* Without the service. */
struct value metric_value(struct arena *arena, const struct usage_metric *metric);
/* Reads back such a value. */
int metric_read_value(struct arena *arena, const char *service, const struct value *v,
                      struct usage_metric *ret_metric, struct err *err);

/* Expressions in the syntax of kepler/logs/log_query.h, with these fields only: service, timestamp,
 * cpu_percent, memory_rss, memory_vss. */
int metric_query_parse(struct arena *arena, struct str text, const struct log_query **ret_query,
                       struct err *err);
bool metric_query_match(const struct log_query *query, const struct usage_metric *metric);

#endif
