/* kepler events: show what happens to services, as it happens. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/kepler/client.h"
#include "commands/cli/kepler/kepler.h"
#include "commands/cli/kepler/status_text.h"
#include "core/data/json.h"
#include "core/data/time_text.h"
#include "core/sys/clock.h"
#include "kepler/config/reason.h"
#include "kepler/control/message.h"

#define LINE_MAX_BYTES ((size_t)64 << 10)

struct events_args {
    struct kepler_globals globals;
    bool json;
};

static const struct param events_options[] = {
    PARAM("json", BOOL, struct events_args, json, "print one JSON object for each event"),
    KEPLER_GLOBALS(struct events_args, globals),
    { 0 },
};

struct showing_events {
    struct param_strs services; /* none: all */
    bool json, quiet, answered;
    int status;
};

static bool is_shown(const struct showing_events *showing, const struct value *body)
{
    const char *name = value_get_text(body, "service");

    for (size_t i = 0; name && i < showing->services.n; i++)
        if (strcmp(name, showing->services.p[i]) == 0)
            return true;
    return name && showing->services.n == 0;
}

static void print_local_time(struct buf *out)
{
    char text[sizeof("2024-02-29 12:00:00")];
    const time_t now = time(NULL);
    struct tm tm;

    if (localtime_r(&now, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) > 0)
        buf_printf(out, "%s ", text);
}

/* "web starting", "web skipped: dependency `db` was stopped", "web hook pre_start failed". */
static void print_event(const struct message *event, struct arena *arena, struct buf *out)
{
    const char *hook = value_get_text(&event->body, "hook");
    const char *status = value_get_text(&event->body, hook ? "what" : "status");
    const char *reason = value_get_text(&event->body, "reason");

    print_local_time(out);
    buf_add_text(out, value_get_text(&event->body, "service"));
    if (hook)
        buf_printf(out, " hook %s", hook);
    buf_printf(out, " %s", status ? status : "?");
    if (reason && reason[0]) {
        buf_add_text(out, ": ");
        reason_print(str_from(kepler_one_line(arena, str_from(reason))), out);
    }
}

static void print_event_json(const struct message *event, struct arena *arena, struct buf *out)
{
    static const char *const keys[] = { "service", "status", "hook", "what", "reason" };
    const int64_t now = clock_wall();
    struct value_map *map = value_map_new(arena, ARRAY_LEN(keys) + 1);
    const struct value whole = value_map(map);
    struct err ignored; /* a line has a limit, and so have its texts */

    value_map_set(
        arena, map, value_text("time"),
        value_text(time_text(
            arena, (struct value_time){ now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) })));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct value *v = value_get(&event->body, keys[i]);

        if (v)
            value_map_set(arena, map, value_text(keys[i]), *v);
    }
    (void)json_print(out, &whole, JSON_STYLE_TEXT, &ignored);
}

static void show_event(struct showing_events *showing, const struct message *event)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf line = BUF_INIT(LINE_MAX_BYTES);

    if (!is_shown(showing, &event->body))
        return;
    (showing->json ? print_event_json : print_event)(event, &arena, &line);
    puts(buf_text(&line));
    (void)fflush(stdout); /* a failure is reported when the command ends */
}

/* The first reply says that the events follow, the second one that the config is gone. */
static void on_events_message(void *self, struct kepler_client *client,
                              const struct message *message)
{
    struct showing_events *showing = self;

    if (message->kind == MESSAGE_EVENT &&
        (strcmp(message->name, "progress") == 0 || strcmp(message->name, "hook") == 0))
        show_event(showing, message);
    if (message->kind != MESSAGE_REPLY)
        return;
    showing->status = kepler_client_check(message);
    if (showing->status == 0 && !showing->answered) {
        showing->answered = true;
        return;
    }
    if (showing->status == 0)
        (void)kepler_tell(showing->quiet, stderr, &message->body);
    kepler_client_stop(client);
}

static int run_events(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct events_args *args = raw;
    struct showing_events showing = { .services = operands,
                                      .json = args->json,
                                      .quiet = args->globals.quiet };
    struct request_ask ask = { .services = operands };
    struct kepler_client client;
    struct err err;
    int status;

    if (kepler_config_path(cli->arena, &args->globals, &ask.config, &err) < 0)
        return kepler_err(&err);
    status = kepler_client_open(&client, cli->arena, on_events_message, &showing);
    if (status == 0) {
        (void)kepler_client_send(&client, REQUEST_EVENTS, &ask);
        kepler_client_run(&client);
        status = client.lost ? kepler_error("lost the connection to the daemon") : showing.status;
    }
    kepler_client_done(&client);
    return status;
}

const struct command kepler_command_events = {
    .name = "events",
    .operands = "[SERVICE...]",
    .lookup = "graph",
    .summary = "show each change of a service as it happens",
    .details =
        "First the services that are active, then each change of a status with its reason, and\n"
        "hooks as they begin and end, until Ctrl+C or until the config is unloaded. 'why' has the\n"
        "changes before.\n",
    .examples = "  kepler events\n  kepler events web --json | jq .status\n",
    .options = events_options,
    .args_size = sizeof(struct events_args),
    .least = 0,
    .most = COMMAND_MANY,
    .run = run_events,
};
