/*
 * metrics - counters, gauges and histograms as rows of a table, printed for Prometheus.
 *
 *     enum { METRIC_JOBS, METRIC_PEELS };
 *     static const struct metric rows[] = {
 *         [METRIC_JOBS] = { "zester_jobs_total", METRIC_COUNTER, "jobs that ended", "status" },
 *         [METRIC_PEELS] = { "zester_connected_peels", METRIC_GAUGE, "peels that are connected" },
 *     };
 *     metrics = metrics_new(rows, ARRAY_LEN(rows));
 *     metrics_add(metrics, METRIC_JOBS, 1, "complete", NULL);
 *
 * A row without labels exists from the start, with 0; a row with labels appears with its first
 * value. Label values may come from outside: after METRICS_SERIES_MAX of them a row counts new ones
 * as "other".
 *
 * Memory: metrics_free; rows are borrowed. Threads: one.
 */
#ifndef CORE_HTTP_METRICS_H
#define CORE_HTTP_METRICS_H

#include <stddef.h>

struct buf;
struct metrics;

#define METRICS_SERIES_MAX 1000 /* for one row */
#define METRICS_LABELS     2

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric {
    const char *name;
    enum metric_kind kind;
    const char *help;                   /* lower case, no full stop */
    const char *labels[METRICS_LABELS]; /* names; NULL: none */
    const double *buckets;              /* upper bounds of a histogram, rising; ends with 0 */
};

struct metrics *metrics_new(const struct metric *rows, size_t count);
void metrics_free(struct metrics *metrics);

/* Label values are in the order of the row; NULL for labels that it does not have. */
void metrics_add(struct metrics *metrics, size_t row, double amount, const char *first,
                 const char *second);
void metrics_set(struct metrics *metrics, size_t row, double value, const char *first,
                 const char *second);
/* One observation of a histogram. */
void metrics_observe(struct metrics *metrics, size_t row, double value, const char *first,
                     const char *second);
/* The value of a counter or gauge, the number of observations of a histogram; 0 when there is
 * none. */
double metrics_value(struct metrics *metrics, size_t row, const char *first, const char *second);

/* The text format of Prometheus, version 0.0.4. */
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
void metrics_print(const struct metrics *metrics, struct buf *out);

#endif
