/* kepler top: what services use, live or as it was stored. */
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/kepler/kepler.h"
#include "cli/kepler/client.h"
#include "data/json.h"
#include "monitor/metric.h"
#include "monitor/metric_search.h"
#include "sys/clock.h"

#define OUTPUT_MAX ((size_t)256 << 20)
#define DAY        (86400 * CLOCK_SECOND)
#define TIME_MAX   (36500 * DAY)

struct top_args {
    struct kepler_globals globals;
    bool json, sql, has_history, has_interval;
    int64_t history, interval;
    const char *filter;
};

#define ARGS struct top_args

/* clang-format off */
static const struct param options[] = {
    PARAM("json",     BOOL,     ARGS, json, "print stored metrics as JSON: the newest of each service"),
    PARAM("history",  DURATION, ARGS, history, "with --json: all metrics of this time until now", PARAM_GIVEN(ARGS, has_history), PARAM_RANGE(CLOCK_MS, TIME_MAX)),
    PARAM("interval", DURATION, ARGS, interval, "how often the page looks; with --history: one metric for so much time", .default_text = "2s", PARAM_GIVEN(ARGS, has_interval), PARAM_RANGE(100 * CLOCK_MS, DAY)),
    PARAM("filter",   STR,      ARGS, filter, "with --json: only metrics that match, see below", .aliases = "F", .kind_text = "EXPRESSION"),
    PARAM("sql",      BOOL,     ARGS, sql, "the EXPRESSION of -F is a WHERE clause in SQL, see below"),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};
/* clang-format on */

/* --- JSON ----------------------------------------------------------------------------------- */

/* Service to its metric, or to all of them in the order of time. */
static struct value group_metrics(struct arena *arena, const struct value *list, bool history)
{
    struct value map = value_map(value_map_new(arena, 8));

    for (size_t i = 0; list && value_is(list, VALUE_LIST) && i < list->list->count; i++) {
        const struct value *one = &list->list->items[i], *service = value_get(one, "service");
        const struct value *known;
        struct metric metric;
        struct err ignored; /* of a newer daemon: what cannot be read is not shown */
        struct value v;

        if (!service || !value_is(service, VALUE_STR) ||
            metric_read_value(arena, service->s.p, one, &metric, &ignored) < 0)
            continue;
        v = metric_value(arena, &metric);
        known = value_get(&map, metric.service);
        if (history && known)
            value_list_push(arena, known->list, v);
        if (history && !known) {
            struct value_list *first = value_list_new(arena, 8);

            value_list_push(arena, first, v);
            v = value_list(first);
        }
        if (!history || !known)
            value_map_set(arena, map.map, value_text(metric.service), v);
    }
    return map;
}

static int print_json(struct cli *cli, const struct top_args *args, struct param_strs services)
{
    AUTO_BUF struct buf out = BUF_INIT(OUTPUT_MAX);
    struct request_metrics request = {
        .services = services,
        .history = args->history / CLOCK_MS,
        .bucket = args->has_history && args->has_interval ? args->interval / CLOCK_MS : 0,
        .query = args->filter,
        .sql = args->sql,
    };
    const struct value *cut;
    struct value body, map;
    struct err err;
    int status;

    if (kepler_config_path(cli->arena, &args->globals, &request.config, &err) < 0)
        return kepler_err(&err);
    status = kepler_ask(cli->arena, REQUEST_METRICS, &request, &body);
    if (status != 0)
        return status;
    cut = value_get(&body, "cut");
    if (cut && value_is(cut, VALUE_BOOL) && cut->b && !args->globals.quiet)
        kepler_warn("these are the newest %d metrics: --interval makes them fewer",
                    METRIC_SEARCH_MAX);
    map = group_metrics(cli->arena, value_get(&body, "metrics"), args->has_history);
    if (json_print(&out, &map, KEPLER_JSON, &err) < 0)
        return kepler_err(&err);
    (void)printf("%s\n", buf_text(&out));
    return KEPLER_OK;
}

/* --- the command ---------------------------------------------------------------------------- */

static const char *find_clash(const struct top_args *args)
{
    if (args->sql && !args->filter)
        return "--sql requires -F: the clause is its EXPRESSION";
    if (!args->json && args->has_history)
        return "--history requires --json";
    if (!args->json && args->filter)
        return "-F requires --json";
    if (args->json && args->has_interval && !args->has_history)
        return "--interval with --json requires --history";
    return NULL;
}

static int run_top(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct top_args *args = raw;
    const struct log_query *query;
    struct err err;

    if (find_clash(args))
        return cli_usage(cli, "%s", find_clash(args));
    if (args->filter && !args->sql &&
        metric_query_parse(cli->arena, str_from(args->filter), &query, &err) < 0)
        return cli_usage(cli, "the filter '%s': %s", args->filter, err.text);
    if (!args->json)
        return cli_usage(cli, "top prints metrics with --json");
    return print_json(cli, args, operands);
}

const struct command kepler_command_top = {
    .name = "top",
    .operands = "[SERVICE...]",
    .lookup = "graph",
    .summary = "show what services use: processors and memory",
    .details =
        "--json prints metrics that were stored because of 'kepler.monitor' in the config: a map\n"
        "of services with timestamp (milliseconds since 1970), cpu_percent (100 is one "
        "processor),\n"
        "memory_rss, memory_vss (bytes) and pids. With --history each service has a list, 10000\n"
        "metrics at most; with --interval, too, each is the mean of cpu_percent and the most of\n"
        "memory in that time.\n"
        "\n"
        "An EXPRESSION of -F is made as for 'kepler logs', of the fields @service, @timestamp,\n"
        "@cpu_percent, @memory_rss and @memory_vss. With --sql it is the WHERE clause of a SELECT\n"
        "from metrics(id, timestamp, service, cpu_percent, memory_rss, memory_vss, pids).\n",
    .examples = "  kepler top --json\n"
                "  kepler top --json --history 1h --interval 5m web\n"
                "  kepler top --json --history 1d -F '@cpu_percent:>90 -@service:batch'\n",
    .options = options,
    .args_size = sizeof(struct top_args),
    .least = 0,
    .most = COMMAND_MANY,
    .run = run_top,
};
