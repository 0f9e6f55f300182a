/* kepler top: what services use, live or as it was stored. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/kepler/kepler.h"
#include "commands/cli/kepler/client.h"
#include "commands/cli/kepler/lines.h"
#include "commands/cli/kepler/page.h"
#include "commands/cli/shared/live.h"
#include "commands/cli/shared/terminal.h"
#include "kepler/control/message.h"
#include "kepler/monitor/metric.h"
#include "kepler/monitor/metric_search.h"
#include "core/sys/clock.h"

#define DAY      (86400 * CLOCK_SECOND)
#define TIME_MAX (36500 * DAY)

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
    PARAM("interval", DURATION, ARGS, interval, "sampling interval of the page; with --history: one metric per interval", .default_text = "2s", PARAM_GIVEN(ARGS, has_interval), PARAM_RANGE(100 * CLOCK_MS, DAY)),
    PARAM("filter",   STR,      ARGS, filter, "with --json: only metrics that match, see below", .aliases = "F", .kind_text = "EXPRESSION"),
    PARAM("sql",      BOOL,     ARGS, sql, "the EXPRESSION of -F is a WHERE clause in SQL, see below"),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};
/* clang-format on */

/* --- JSON ----------------------------------------------------------------------------------- */

/* Maps a service to its metric, or to all of them in order of time. */
static struct value group_metrics(struct arena *arena, const struct value *list, bool history)
{
    struct value map = value_map(value_map_new(arena, 8));

    for (size_t i = 0; list && value_is(list, VALUE_LIST) && i < list->list->count; i++) {
        const struct value *one = &list->list->items[i], *service = value_get(one, "service");
        const struct value *known;
        struct usage_metric metric;
        struct err ignored; /* from a newer daemon: hide what cannot be parsed */
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

static int print_top_json(struct cli *cli, const struct top_args *args, struct param_strs services)
{
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
        kepler_warn("showing the newest %d metrics: use --interval to reduce them",
                    METRIC_SEARCH_MAX);
    map = group_metrics(cli->arena, value_get(&body, "metrics"), args->has_history);
    return kepler_print_json(&map);
}

/* --- the page -------------------------------------------------------------------------------- */

struct top {
    struct cli *cli;
    const char *config;
    struct param_strs services;
    int64_t interval;
    struct kepler_client client;
    struct kepler_page page;
    struct live live;
    struct timer timer;
    uint64_t status_id, metrics_id, history_id, logs_id, action_id; /* ids of pending requests */
    enum page_action acting;
    int status;
};

/* The request of each action, and its progress message. */
static const struct {
    enum request_kind kind;
    const char *doing, *done;
} actions[PAGE_ACTIONS] = {
    [PAGE_START] = { REQUEST_START, "starting", "started" },
    [PAGE_STOP] = { REQUEST_STOP, "stopping", "stopped" },
    [PAGE_RESTART] = { REQUEST_RESTART, "restarting", "restarted" },
};

static void begin_action(struct top *top)
{
    const char *name = top->page.target;
    const struct param_strs names = { 1, &name };
    const struct request_stop stop = { .config = top->config, .services = names };
    const struct request_start start = { .config = top->config,
                                         .services = names,
                                         .environment = kepler_environment(top->cli->arena) };
    const enum page_action action = top->page.action;

    top->page.action = PAGE_NOTHING;
    if (top->action_id) {
        kepler_page_say(&top->page, "wait: %s", actions[top->acting].doing);
        return;
    }
    top->acting = action;
    kepler_page_say(&top->page, "%s %s ...", actions[action].doing, name);
    top->action_id = kepler_client_send(&top->client, actions[action].kind,
                                        action == PAGE_STOP ? (const void *)&stop : &start);
}

static void take_action(struct top *top, const struct message *reply)
{
    top->action_id = 0;
    if (strcmp(reply->name, MESSAGE_OK) == 0)
        kepler_page_say(&top->page, "%s %s", actions[top->acting].done, top->page.target);
    else
        kepler_page_say(&top->page, "error: %s",
                        message_text(reply, "message", "the daemon gave no reason"));
}

/* --- replies of the daemon --- */

/* Only what the page is about. */
static struct value choose_services(struct top *top, struct arena *arena, const struct value *all)
{
    struct value map = value_map(value_map_new(arena, 8));

    for (size_t i = 0; all && value_is(all, VALUE_MAP) && i < all->map->count; i++) {
        const struct value_pair *pair = &all->map->pairs[i];
        bool is_named = top->services.n == 0;

        for (size_t n = 0; n < top->services.n; n++)
            is_named = is_named || str_is(pair->key.s, top->services.p[n]);
        if (is_named)
            value_map_set(arena, map.map, pair->key, pair->value);
    }
    return map;
}

static void end_with(struct top *top, int status)
{
    top->status = status;
    live_end(&top->live);
}

/* Ends the page; the command prints the reason. */
static void fail_with(struct top *top, const struct message *reply)
{
    kepler_page_say(&top->page, "%s", message_text(reply, "message", "the daemon gave no reason"));
    end_with(top, KEPLER_FAILED);
}

static void take_page_status(struct top *top, const struct message *reply)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value chosen;

    top->status_id = 0;
    if (strcmp(reply->name, MESSAGE_OK) != 0 && strcmp(reply->name, MESSAGE_UNKNOWN) != 0) {
        fail_with(top, reply);
        return;
    }
    chosen = choose_services(top, &arena, value_get(&reply->body, "services"));
    kepler_page_take_status(&top->page, &chosen);
}

/* A config that is not loaded has no samples; its services are shown without. */
static void take_metrics(struct top *top, const struct message *reply, bool is_live)
{
    const struct value *list = value_get(&reply->body, "metrics");

    if (is_live)
        top->metrics_id = 0;
    else
        top->history_id = 0;
    if (strcmp(reply->name, MESSAGE_OK) == 0 && list)
        kepler_page_take_metrics(&top->page, list, is_live);
    else if (is_live && top->services.n > 0 && top->page.services.n == 0)
        fail_with(top, reply); /* no such service */
}

static void take_lines(struct top *top, const struct message *event)
{
    const struct value *list = value_get(&event->body, "lines");

    for (size_t i = 0; list && value_is(list, VALUE_LIST) && i < list->list->count; i++) {
        struct log_line line;

        if (kepler_lines_read(&list->list->items[i], &line))
            kepler_page_take_line(&top->page, &line);
    }
}

static void on_top_message(void *self, struct kepler_client *client, const struct message *message)
{
    struct top *top = self;

    (void)client;
    if (message->kind == MESSAGE_EVENT && message->id == top->logs_id &&
        strcmp(message->name, "lines") == 0)
        take_lines(top, message);
    if (message->kind == MESSAGE_REPLY) {
        if (message->id == top->status_id)
            take_page_status(top, message);
        else if (message->id == top->metrics_id)
            take_metrics(top, message, true);
        else if (message->id == top->history_id)
            take_metrics(top, message, false);
        else if (message->id == top->action_id)
            take_action(top, message);
        else if (message->id == top->logs_id)
            top->logs_id = 0; /* it was unloaded: request it again */
    }
    live_redraw(&top->live);
}

/* --- looking --- */

static void on_update_due(struct timer *timer);

/* Does not repeat unanswered requests. */
static void request_update(struct top *top)
{
    const struct request_ask ask = { .config = top->config };
    const struct request_metrics metrics = { .config = top->config,
                                             .services = top->services,
                                             .live = true };
    const struct request_logs logs = { .config = top->config,
                                       .services = top->services,
                                       .follow = true,
                                       .has_tail = true,
                                       .tail = top->page.line_count > 0 ? 0 : PAGE_LINES };

    if (!top->status_id)
        top->status_id = kepler_client_send(&top->client, REQUEST_STATUS, &ask);
    if (!top->metrics_id)
        top->metrics_id = kepler_client_send(&top->client, REQUEST_METRICS, &metrics);
    if (!top->logs_id)
        top->logs_id = kepler_client_send(&top->client, REQUEST_LOGS, &logs);
    timer_set(loop_timers(top->client.loop), &top->timer, clock_after(clock_now(), top->interval),
              on_update_due);
}

static void on_update_due(struct timer *timer)
{
    request_update(container_of(timer, struct top, timer));
}

/* Charts begin with what was stored, as far as something was. */
static void ask_history(struct top *top)
{
    const struct request_metrics history = { .config = top->config,
                                             .services = top->services,
                                             .history = PAGE_POINTS * top->interval / CLOCK_MS,
                                             .bucket = top->interval / CLOCK_MS };

    top->history_id = kepler_client_send(&top->client, REQUEST_METRICS, &history);
}

/* --- the terminal --- */

static void draw_page(void *self, struct screen screen, struct buf *out)
{
    struct top *top = self;

    kepler_page_resize(&top->page, screen.rows, screen.columns);
    kepler_page_print(&top->page, clock_wall(), out);
}

static void press_page_key(void *self, int key)
{
    struct top *top = self;

    kepler_page_press(&top->page, key);
    top->live.is_suspended = top->page.is_suspended;
    top->page.is_suspended = false;
    if (top->page.action != PAGE_NOTHING)
        begin_action(top);
    if (top->page.is_over)
        end_with(top, KEPLER_OK);
}

static void on_over(void *self)
{
    kepler_client_stop(&((struct top *)self)->client);
}

static int run_top_live(struct top *top)
{
    struct err err;

    top->live = (struct live){ .loop = top->client.loop,
                               .self = top,
                               .draw = draw_page,
                               .press = press_page_key,
                               .over = on_over };
    top->page.view.color = top->page.lines_view.color = top->cli->color;
    if (live_open(&top->live, &err) < 0)
        return kepler_err(&err);
    ask_history(top);
    request_update(top);
    kepler_client_run(&top->client);
    timer_clear(loop_timers(top->client.loop), &top->timer);
    live_close(&top->live);
    if (top->live.signo)
        return 128 + top->live.signo;
    if (!top->live.is_over)
        return kepler_error("lost the connection to the daemon%s%s", top->client.why[0] ? ": " : "",
                            top->client.why);
    if (top->status != KEPLER_OK)
        return kepler_error("%s", top->page.message);
    return KEPLER_OK;
}

static int show_page(struct cli *cli, const struct top_args *args, struct param_strs services)
{
    struct top *top;
    struct err err;
    int status;

    if (!terminal_is_there())
        return cli_usage(cli, "top draws on a terminal; use --json for stored metrics");
    top = ARENA_NEW(cli->arena, struct top);
    *top = (struct top){ .cli = cli, .services = services, .interval = args->interval };
    if (kepler_config_path(cli->arena, &args->globals, &top->config, &err) < 0)
        return kepler_err(&err);
    kepler_page_init(&top->page, top->config);
    status = kepler_client_open(&top->client, cli->arena, on_top_message, top);
    if (status == 0)
        status = run_top_live(top);
    kepler_client_done(&top->client);
    kepler_page_done(&top->page);
    return status;
}

/* --- the command ---------------------------------------------------------------------------- */

static const char *find_top_conflict(const struct top_args *args)
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

static int run_kepler_top(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct top_args *args = raw;
    const struct log_query *query;
    struct err err;

    if (find_top_conflict(args))
        return cli_usage(cli, "%s", find_top_conflict(args));
    if (args->filter && !args->sql &&
        metric_query_parse(cli->arena, str_from(args->filter), &query, &err) < 0)
        return cli_usage(cli, "the filter '%s': %s", args->filter, err.text);
    return args->json ? print_top_json(cli, args, operands) : show_page(cli, args, operands);
}

const struct command kepler_command_top = {
    .name = "top",
    .operands = "[SERVICE...]",
    .lookup = "graph",
    .summary = "show CPU and memory of services",
    .details =
        "Without --json, a live page on a terminal that samples the services every --interval;\n"
        "'kepler.monitor' is not required. Its tabs are the services with charts of the selected\n"
        "one, their logs, and details of one service. Keys: 1 to 3 or Tab select the tab, j and\n"
        "k or the arrows move, S starts, X stops and R restarts the service after confirmation, s\n"
        "changes the order, r reverses it, + and - zoom charts, / filters, q ends.\n"
        "\n"
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
    .examples = "  kepler top\n"
                "  kepler top --json\n"
                "  kepler top --json --history 1h --interval 5m web\n"
                "  kepler top --json --history 1d -F '@cpu_percent:>90 -@service:batch'\n",
    .options = options,
    .args_size = sizeof(struct top_args),
    .least = 0,
    .most = COMMAND_MANY,
    .run = run_kepler_top,
};
