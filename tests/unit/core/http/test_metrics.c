#include "core/http/metrics.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "test.h"

enum { ROW_JOBS, ROW_PEELS, ROW_TIME };

static const double bounds[] = { 0.1, 1, 60, 0 };
static const struct metric rows[] = {
    [ROW_JOBS] = { "jobs_total", METRIC_COUNTER, "jobs that ended", { "status", "rule" }, NULL },
    [ROW_PEELS] = { "peels", METRIC_GAUGE, "peels that are there", { NULL }, NULL },
    [ROW_TIME] = { "seconds", METRIC_HISTOGRAM, "how long", { "what" }, bounds },
};

TEST(metrics_print_as_prometheus_reads_them)
{
    struct metrics *metrics = metrics_new(rows, ARRAY_LEN(rows));
    AUTO_BUF struct buf out = BUF_INIT(1 << 16);

    metrics_add(metrics, ROW_JOBS, 1, "done", "a");
    metrics_add(metrics, ROW_JOBS, 2, "done", "a");
    metrics_add(metrics, ROW_JOBS, 1, "lost", "quote\" back\\ line\n");
    metrics_observe(metrics, ROW_TIME, 0.05, "x", NULL);
    metrics_observe(metrics, ROW_TIME, 30, "x", NULL);
    metrics_observe(metrics, ROW_TIME, 100, "x", NULL);
    metrics_print(metrics, &out);
    CHECK_STR(buf_text(&out), "# HELP jobs_total jobs that ended\n"
                              "# TYPE jobs_total counter\n"
                              "jobs_total{status=\"done\",rule=\"a\"} 3\n"
                              "jobs_total{status=\"lost\",rule=\"quote\\\" back\\\\ line\\n\"} 1\n"
                              "# HELP peels peels that are there\n"
                              "# TYPE peels gauge\n"
                              "peels 0\n"
                              "# HELP seconds how long\n"
                              "# TYPE seconds histogram\n"
                              "seconds_bucket{what=\"x\",le=\"0.1\"} 1\n"
                              "seconds_bucket{what=\"x\",le=\"1\"} 1\n"
                              "seconds_bucket{what=\"x\",le=\"60\"} 2\n"
                              "seconds_bucket{what=\"x\",le=\"+Inf\"} 3\n"
                              "seconds_sum{what=\"x\"} 130.05\n"
                              "seconds_count{what=\"x\"} 3\n");
    metrics_set(metrics, ROW_PEELS, 7, NULL, NULL);
    CHECK_INT((int)metrics_value(metrics, ROW_PEELS, NULL, NULL), 7);
    CHECK_INT((int)metrics_value(metrics, ROW_JOBS, "done", "a"), 3);
    CHECK_INT((int)metrics_value(metrics, ROW_TIME, "x", NULL), 3);
    CHECK_INT((int)metrics_value(metrics, ROW_TIME, "y", NULL), 0);
    metrics_free(metrics);
}

TEST(label_values_from_outside_do_not_make_series_without_end)
{
    struct metrics *metrics = metrics_new(rows, ARRAY_LEN(rows));
    char value[16];

    for (int i = 0; i < METRICS_SERIES_MAX + 500; i++) {
        (void)snprintf(value, sizeof(value), "%d", i);
        metrics_add(metrics, ROW_JOBS, 1, value, "a");
    }
    CHECK_INT((int)metrics_value(metrics, ROW_JOBS, "0", "a"), 1);
    CHECK_INT((int)metrics_value(metrics, ROW_JOBS, "other", "other"), 500);
    metrics_free(metrics);
}
