/*
 * metric_scan - reads stored metrics in order, also as a table for SQL.
 *
 *     metric_scan_open -> { metric_scan_next }... -> metric_scan_close
 *
 * Lines that are not metrics are skipped.
 *
 * Memory: metric_scan_close. A row is valid until the next call. Threads: one at a time.
 */
#ifndef KEPLER_MONITOR_METRIC_SCAN_H
#define KEPLER_MONITOR_METRIC_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "kepler/monitor/metric.h"
#include "core/sql/sql_table.h"

struct err;
struct metric_scan;

struct metric_row {
    uint64_t id;
    struct usage_metric metric;
};

/* The folder and the services; none: all. Borrowed. */
struct metric_scan_source {
    const char *folder;
    const char *const *services;
    size_t service_count;
};

int metric_scan_open(const struct metric_scan_source *source, const struct sql_bounds *bounds,
                     struct metric_scan **ret_scan, struct err *err);
/* NULL: the end. */
int metric_scan_next(struct metric_scan *scan, const struct metric_row **ret_row, struct err *err);
/* NULL is fine. */
void metric_scan_close(struct metric_scan *scan);

/* Its `self` is a struct metric_scan_source, its rows are struct metric_row. */
extern const struct sql_table metric_scan_table;

#endif
