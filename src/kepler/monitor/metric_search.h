/*
 * metric_search - searches the stored metrics of a config: the newest of each service, or a
 * period.
 *
 * A search only reads the store's folder, whoever writes to it. A filter is an expression
 * (metric_query_parse), or an SQL WHERE clause over the table
 *
 *     metrics(id, timestamp, service, cpu_percent, memory_rss, memory_vss, pids)
 *
 * where `pids` is JSON. The newest metric of a service is shown if it matches; in a history, every
 * matching metric. With buckets, the metrics of a service in each period become one: mean CPU,
 * maximum memory, the newest processes.
 *
 * Memory: results are in the arena. Threads: any, one for each search; it may take a while.
 */
#ifndef KEPLER_MONITOR_METRIC_SEARCH_H
#define KEPLER_MONITOR_METRIC_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kepler/monitor/metric.h"

struct arena;
struct err;

/* Maximum metrics of one result; the newest are kept. */
#define METRIC_SEARCH_MAX 10000

struct metric_search {
    const char *folder;
    const char *const *services; /* none: all */
    size_t service_count;
    bool history;
    int64_t since;      /* milliseconds since 1970; for a history */
    int64_t bucket;     /* milliseconds; 0: none */
    const char *filter; /* NULL: none */
    bool is_sql;
};

/* In order of time. `ret_cut`: there were more than METRIC_SEARCH_MAX. Fails with ERR_NOT_FOUND
 * when nothing was ever stored. */
int metric_search_run(const struct metric_search *search, struct arena *arena,
                      struct usage_metrics *ret_metrics, bool *ret_cut, struct err *err);

#endif
