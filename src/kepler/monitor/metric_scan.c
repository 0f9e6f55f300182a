#include "kepler/monitor/metric_scan.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/data/json.h"
#include "kepler/logs/log_reader.h"
#include "core/sys/clock.h"

/* The store's time is the arrival of the line, a moment after the sample. */
#define TIME_SLACK (10 * CLOCK_SECOND)
/* Milliseconds that fit nanoseconds. */
#define TIME_MAX (INT64_MAX / CLOCK_MS - 2 * TIME_SLACK / CLOCK_MS)

struct metric_scan {
    struct log_reader *reader;
    struct arena arena; /* for the row */
    struct metric_row row;
    int64_t id_max;
};

static struct log_filter filter_of(const struct metric_scan_source *source,
                                   const struct sql_bounds *bounds)
{
    struct log_filter filter = { .services = source->services,
                                 .service_count = source->service_count };

    if (bounds->id_min > 0)
        filter.after = (uint64_t)bounds->id_min - 1;
    if (bounds->time_min > 0 && bounds->time_min < TIME_MAX)
        filter.since = bounds->time_min * CLOCK_MS - TIME_SLACK;
    if (bounds->time_max > 0 && bounds->time_max < TIME_MAX)
        filter.until = bounds->time_max * CLOCK_MS + TIME_SLACK;
    return filter;
}

int metric_scan_open(const struct metric_scan_source *source, const struct sql_bounds *bounds,
                     struct metric_scan **ret_scan, struct err *err)
{
    const struct log_filter filter = filter_of(source, bounds);
    struct metric_scan *scan = mem_zalloc(sizeof(*scan));

    scan->id_max = bounds->id_max;
    if (log_reader_open(source->folder, &filter, &scan->reader, err) < 0) {
        free(scan);
        return -1;
    }
    *ret_scan = scan;
    return 0;
}

void metric_scan_close(struct metric_scan *scan)
{
    if (!scan)
        return;
    log_reader_free(scan->reader);
    arena_done(&scan->arena);
    free(scan);
}

int metric_scan_next(struct metric_scan *scan, const struct metric_row **ret_row, struct err *err)
{
    const struct log_line *line;

    do {
        arena_clear(&scan->arena);
        if (log_reader_next(scan->reader, &line, err) < 0)
            return -1;
        if (!line || line->seq > INT64_MAX || (int64_t)line->seq > scan->id_max) {
            *ret_row = NULL;
            return 0;
        }
        scan->row.id = line->seq;
    } while (!metric_read(&scan->arena, line, &scan->row.metric));
    *ret_row = &scan->row;
    return 0;
}

/* --- the table ------------------------------------------------------------------------------ */

enum { ROW_ID, ROW_TIMESTAMP, ROW_SERVICE, ROW_CPU, ROW_RSS, ROW_VSS, ROW_PIDS };

static const struct sql_column columns[] = {
    [ROW_ID] = { "id", "INTEGER", SQL_PUSH_ID },
    [ROW_TIMESTAMP] = { "timestamp", "INTEGER", SQL_PUSH_TIME },
    [ROW_SERVICE] = { "service", "TEXT", SQL_PUSH_NONE },
    [ROW_CPU] = { "cpu_percent", "REAL", SQL_PUSH_NONE },
    [ROW_RSS] = { "memory_rss", "INTEGER", SQL_PUSH_NONE },
    [ROW_VSS] = { "memory_vss", "INTEGER", SQL_PUSH_NONE },
    [ROW_PIDS] = { "pids", "TEXT", SQL_PUSH_NONE },
};

static int open_table(void *self, const struct sql_bounds *bounds, void **ret_scan, struct err *err)
{
    struct metric_scan *scan;

    if (metric_scan_open(self, bounds, &scan, err) < 0)
        return -1;
    *ret_scan = scan;
    return 0;
}

static int next_metric_row(void *self, const void **ret_row, struct err *err)
{
    const struct metric_row *row;

    if (metric_scan_next(self, &row, err) < 0)
        return -1;
    *ret_row = row;
    return 0;
}

static struct sql_cell int_cell(int64_t i)
{
    return (struct sql_cell){ .kind = SQL_INT, .i = i };
}

static struct sql_cell print_pids(struct metric_scan *scan)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct err ignored; /* numbers have a form */

    (void)json_print(&out, &scan->row.metric.pids, JSON_STYLE_COMPACT, &ignored);
    return (struct sql_cell){ .kind = SQL_TEXT, .s = buf_copy(&out, &scan->arena) };
}

static void read_metric_cell(void *self, size_t column, struct sql_cell *ret_cell)
{
    struct metric_scan *scan = self;
    const struct usage_metric *metric = &scan->row.metric;

    switch (column) {
    case ROW_ID: *ret_cell = int_cell((int64_t)scan->row.id); break;
    case ROW_TIMESTAMP: *ret_cell = int_cell(metric->timestamp); break;
    case ROW_SERVICE:
        *ret_cell = (struct sql_cell){ .kind = SQL_TEXT, .s = str_from(metric->service) };
        break;
    case ROW_CPU:
        *ret_cell = (struct sql_cell){ .kind = SQL_DOUBLE, .d = metric->cpu_percent };
        break;
    case ROW_RSS: *ret_cell = int_cell(metric->memory_rss); break;
    case ROW_VSS: *ret_cell = int_cell(metric->memory_vss); break;
    case ROW_PIDS: *ret_cell = print_pids(scan); break;
    }
}

static void close_table(void *scan)
{
    metric_scan_close(scan);
}

const struct sql_table metric_scan_table = {
    .name = "metrics",
    .columns = columns,
    .column_count = ARRAY_LEN(columns),
    .open = open_table,
    .next = next_metric_row,
    .read = read_metric_cell,
    .close = close_table,
};
