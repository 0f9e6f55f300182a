#include "kepler/monitor/metric.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/record.h"
#include "kepler/logs/log_line.h"
#include "kepler/logs/log_query.h"

#define METRIC_VERSION 1

/* clang-format off */
#define ARGS struct usage_metric
static const struct record_field fields[] = {
    RECORD("timestamp",   INT,    ARGS, timestamp,   RECORD_REQUIRED),
    RECORD("cpu_percent", DOUBLE, ARGS, cpu_percent, RECORD_REQUIRED),
    RECORD("memory_rss",  INT,    ARGS, memory_rss,  RECORD_REQUIRED),
    RECORD("memory_vss",  INT,    ARGS, memory_vss,  RECORD_REQUIRED),
    RECORD("pids",        ANY,    ARGS, pids,        0),
    { 0 },
};
#undef ARGS
/* clang-format on */
static const struct record_type type = RECORD_TYPE("metric", struct usage_metric, fields, 0);

struct value metric_value(struct arena *arena, const struct usage_metric *metric)
{
    return record_value(arena, &type, metric);
}

int metric_read_value(struct arena *arena, const char *service, const struct value *v,
                      struct usage_metric *ret_metric, struct err *err)
{
    *ret_metric = (struct usage_metric){ 0 };
    if (record_read(arena, &type, METRIC_VERSION, v, ret_metric, err) < 0)
        return -1;
    ret_metric->service = service;
    if (!value_is(&ret_metric->pids, VALUE_LIST))
        ret_metric->pids = value_list(value_list_new(arena, 0));
    return 0;
}

int metric_print(const struct usage_metric *metric, struct buf *out, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct value v = metric_value(&arena, metric);

    if (json_print(out, &v, JSON_STYLE_COMPACT, err) < 0)
        return -1;
    buf_add_char(out, '\n');
    return 0;
}

bool metric_read(struct arena *arena, const struct log_line *line, struct usage_metric *ret_metric)
{
    struct value v;
    struct err ignored;

    if (line->lost || line->continues || line->open)
        return false;
    return json_decode(arena, line->text, &v, &ignored) == 0 &&
           metric_read_value(arena, line->service, &v, ret_metric, &ignored) == 0;
}

/* --- expressions ---------------------------------------------------------------------------- */

static const char *const query_fields[] = { "service",    "timestamp",  "cpu_percent",
                                            "memory_rss", "memory_vss", NULL };

int metric_query_parse(struct arena *arena, struct str text, const struct log_query **ret_query,
                       struct err *err)
{
    return log_query_parse_fields(arena, text, query_fields, ret_query, err);
}

static struct value find_metric_field(void *self, const char *field)
{
    const struct usage_metric *metric = self;

    if (strcmp(field, "service") == 0)
        return value_text(metric->service);
    if (strcmp(field, "timestamp") == 0)
        return value_int(metric->timestamp);
    if (strcmp(field, "cpu_percent") == 0)
        return value_double(metric->cpu_percent);
    return value_int(strcmp(field, "memory_rss") == 0 ? metric->memory_rss : metric->memory_vss);
}

bool metric_query_match(const struct log_query *query, const struct usage_metric *metric)
{
    return log_query_match_fields(query, find_metric_field, (void *)(uintptr_t)metric);
}
