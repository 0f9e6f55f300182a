/* kepler ps: list services. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "commands/cli/shared/color.h"
#include "commands/cli/shared/screen.h"
#include "commands/cli/kepler/kepler.h"
#include "commands/cli/kepler/client.h"
#include "commands/cli/kepler/status_text.h"
#include "kepler/control/message.h"
#include "core/sys/clock.h"

#define GAP 2
/* The status keeps at least so much, however narrow the terminal. */
#define STATUS_LEAST 20

struct ps_args {
    struct kepler_globals globals;
    bool all, json;
};

#define ARGS struct ps_args

static const struct param options[] = {
    PARAM("all", BOOL, ARGS, all, "list services of all configs", .aliases = "a"),
    PARAM("json", BOOL, ARGS, json, "print JSON, with times as seconds since 1970"),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};

enum { COLUMN_CONFIG, COLUMN_NAME, COLUMN_STATUS, COLUMN_PID, COLUMNS };
static const char *const titles[COLUMNS] = { "CONFIG", "NAME", "STATUS", "PID" };

struct row {
    const char *cells[COLUMNS];
    enum color color; /* for the status column */
};

struct ps_table {
    struct arena *arena;
    bool color;
    bool whole; /* reasons are not cut */
    VEC(struct row) rows;
    int64_t now;
};

/* The home of the user is "~". */
static const char *short_path(struct arena *arena, const char *path)
{
    const char *home = getenv("HOME");
    size_t n = home ? strlen(home) : 0;

    if (n > 1 && strncmp(path, home, n) == 0 && path[n] == '/')
        return arena_printf(arena, "~%s", path + n);
    return path;
}

static size_t measure_cell(const char *cell)
{
    return utf8_count(str_from(cell));
}

static void add_ps_row(struct ps_table *table, const char *config, const struct value_pair *service)
{
    AUTO_BUF struct buf status = BUF_INIT(KEPLER_OUTPUT_MAX);
    const struct value *pid = value_get(&service->value, "pid");
    struct row row = { .cells = { config, service->key.s.p, NULL, "-" },
                       .color = kepler_status_color(&service->value) };

    kepler_status_print(&service->value, table->now, &status);
    row.cells[COLUMN_STATUS] = kepler_one_line(table->arena, buf_view(&status));
    if (pid && value_is(pid, VALUE_INT))
        row.cells[COLUMN_PID] = arena_printf(table->arena, "%lld", (long long)pid->i);
    VEC_PUSH_IN(table->arena, &table->rows, row);
}

static void add_services(struct ps_table *table, const char *config, const struct value *services)
{
    for (size_t i = 0; services && value_is(services, VALUE_MAP) && i < services->map->count; i++)
        add_ps_row(table, config, &services->map->pairs[i]);
}

static int compare_ps_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = strcmp(x->cells[COLUMN_CONFIG], y->cells[COLUMN_CONFIG]);

    return order ? order : strcmp(x->cells[COLUMN_NAME], y->cells[COLUMN_NAME]);
}

static void print_ps_row(const struct ps_table *table, const struct row *row, int first,
                         const size_t *widths, struct buf *out)
{
    for (int c = first; c < COLUMNS; c++) {
        enum color color = c == COLUMN_STATUS ? row->color : COLOR_NONE;

        color_begin(out, color, table->color);
        buf_add_text(out, row->cells[c]);
        color_end(out, color, table->color);
        if (c + 1 < COLUMNS)
            buf_fill(out, ' ', widths[c] + GAP - measure_cell(row->cells[c]));
    }
    buf_add_char(out, '\n');
}

static void measure_columns(const struct ps_table *table, size_t widths[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++)
        widths[c] = strlen(titles[c]);
    VEC_EACH (&table->rows, row)
        for (int c = 0; c < COLUMNS; c++)
            if (measure_cell(row->cells[c]) > widths[c])
                widths[c] = measure_cell(row->cells[c]);
}

/* On a terminal a row takes one line: long reasons are cut. */
static void fit_statuses(struct ps_table *table, int first, size_t widths[COLUMNS])
{
    const size_t columns = screen_size().columns;
    size_t others = 0, room;

    if (table->whole || !color_is_terminal(STDOUT_FILENO))
        return;
    for (int c = first; c < COLUMNS; c++)
        others += c == COLUMN_STATUS ? GAP : widths[c] + (c + 1 < COLUMNS ? GAP : 0);
    room = columns > others + STATUS_LEAST ? columns - others : STATUS_LEAST;
    VEC_EACH (&table->rows, row)
        row->cells[COLUMN_STATUS] = kepler_fit(table->arena, row->cells[COLUMN_STATUS], room);
    measure_columns(table, widths);
}

static void print_ps_table(struct ps_table *table, bool all)
{
    AUTO_BUF struct buf out = BUF_INIT(KEPLER_OUTPUT_MAX);
    int first = all ? COLUMN_CONFIG : COLUMN_NAME;
    struct row head = { .color = COLOR_NONE };
    size_t widths[COLUMNS];

    memcpy(head.cells, titles, sizeof(titles));
    measure_columns(table, widths);
    fit_statuses(table, first, widths);
    if (table->rows.n > 0)
        qsort(table->rows.p, table->rows.n, sizeof(table->rows.p[0]), compare_ps_rows);
    print_ps_row(table, &head, first, widths, &out);
    VEC_EACH (&table->rows, row)
        print_ps_row(table, row, first, widths, &out);
    (void)fputs(buf_text(&out), stdout);
}

/* --- print JSON ------------------------------------------------------------------------------ */

/* Only the documented keys. */
static struct value choose_keys(struct arena *arena, const struct value *services)
{
    static const char *const keys[] = {
        "status",     "pid",    "started_at",  "stopped_at",  "health_check_failures",
        "exit_code",  "signal", "initialized", "skip_reason", "fail_reason",
        "stop_reason"
    };
    struct value_map *map = value_map_new(arena, 0);

    for (size_t i = 0; services && value_is(services, VALUE_MAP) && i < services->map->count; i++) {
        const struct value_pair *pair = &services->map->pairs[i];
        struct value_map *one = value_map_new(arena, ARRAY_LEN(keys));

        for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
            const struct value *v = value_get(&pair->value, keys[k]);

            value_map_set(arena, one, value_text(keys[k]), v ? *v : value_null());
        }
        value_map_set(arena, map, pair->key, value_map(one));
    }
    return value_map(map);
}

static struct value choose_lists(struct arena *arena, const struct value *configs)
{
    struct value_list *list = value_list_new(arena, 0);

    for (size_t i = 0; configs && i < configs->list->count; i++) {
        const struct value *one = &configs->list->items[i];
        struct value copy = value_copy(arena, one);

        value_map_set(arena, copy.map, value_text("services"),
                      choose_keys(arena, value_get(one, "services")));
        value_list_push(arena, list, copy);
    }
    return value_list(list);
}

/* --- the command ------------------------------------------------------------------------------ */

static int show_all(struct cli *cli, const struct ps_args *args, const struct value *body)
{
    struct ps_table table = { .arena = cli->arena,
                              .color = cli->color,
                              .whole = args->globals.verbose,
                              .now = clock_wall() };
    const struct value *configs = value_get(body, "configs");
    struct value list;

    if (args->json) {
        list = choose_lists(cli->arena, configs);
        return kepler_print_json(&list);
    }
    for (size_t i = 0; configs && i < configs->list->count; i++) {
        const struct value *one = &configs->list->items[i];

        add_services(&table, short_path(cli->arena, value_get(one, "config_path")->s.p),
                     value_get(one, "services"));
    }
    print_ps_table(&table, true);
    return KEPLER_OK;
}

static int show_one(struct cli *cli, const struct ps_args *args, const struct value *body)
{
    struct ps_table table = { .arena = cli->arena,
                              .color = cli->color,
                              .whole = args->globals.verbose,
                              .now = clock_wall() };
    struct value map;

    if (args->json) {
        map = choose_keys(cli->arena, value_get(body, "services"));
        return kepler_print_json(&map);
    }
    add_services(&table, "", value_get(body, "services"));
    print_ps_table(&table, false);
    return KEPLER_OK;
}

struct answer {
    bool known;
    int status;
    struct value body;
};

static void on_ps_message(void *self, struct kepler_client *client, const struct message *message)
{
    struct answer *answer = self;

    if (message->kind != MESSAGE_REPLY)
        return;
    answer->known = strcmp(message->name, MESSAGE_UNKNOWN) != 0;
    answer->body = value_copy(client->arena, &message->body);
    answer->status = answer->known ? kepler_client_check(message) : KEPLER_OK;
    if (!answer->known)
        (void)fprintf(stderr, "%s\n", message_text(message, "message", ""));
    kepler_client_stop(client);
}

static int run_ps(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct ps_args *args = raw;
    struct request_ask ask = { 0 };
    struct answer answer = { .status = KEPLER_FAILED };
    struct kepler_client client;
    struct err err;
    int status;

    (void)operands;
    if (!args->all && kepler_config_path(cli->arena, &args->globals, &ask.config, &err) < 0)
        return kepler_err(&err);
    status = kepler_client_open(&client, cli->arena, on_ps_message, &answer);
    if (status == 0) {
        (void)kepler_client_send(&client, REQUEST_STATUS, &ask);
        kepler_client_run(&client);
        status = client.lost ? kepler_error("lost the connection to the daemon before it answered")
                             : answer.status;
    }
    kepler_client_done(&client);
    if (status != 0)
        return status;
    if (!answer.known)
        answer.body = value_map(value_map_new(cli->arena, 0));
    if (!answer.known && !args->json)
        return KEPLER_OK;
    return args->all ? show_all(cli, args, &answer.body) : show_one(cli, args, &answer.body);
}

const struct command kepler_command_ps = {
    .name = "ps",
    .operands = "",
    .summary = "list services and their states",
    .details =
        "Shows the reason for skipped and failed services. On a terminal a reason is cut to the\n"
        "width of the line; -v shows it in full, and so do pipes and --json. A config that\n"
        "was never started is not an error.\n",
    .examples = "  kepler ps\n  kepler ps --all\n  kepler -f web.yaml ps --json\n",
    .options = options,
    .args_size = sizeof(struct ps_args),
    .least = 0,
    .most = 0,
    .run = run_ps,
};
