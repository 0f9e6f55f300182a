/* kepler why: explain the state of a service. */
#include <stdio.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/kepler/client.h"
#include "commands/cli/kepler/kepler.h"
#include "kepler/engine/why_text.h"

struct why_args {
    struct kepler_globals globals;
    bool json;
};

static const struct param why_options[] = {
    PARAM("json", BOOL, struct why_args, json, "print JSON"),
    KEPLER_GLOBALS(struct why_args, globals),
    { 0 },
};

/* A map by name, like `ps --json`. */
static int print_why_json(struct arena *arena, const struct value *services)
{
    struct value_map *map = value_map_new(arena, 4);
    const struct value whole = value_map(map);

    for (size_t i = 0; services && value_is(services, VALUE_LIST) && i < services->list->count;
         i++) {
        const struct value *name = value_get(&services->list->items[i], "service");

        if (name)
            value_map_set(arena, map, *name, services->list->items[i]);
    }
    return kepler_print_json(&whole);
}

static int run_kepler_why(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct why_args *args = raw;
    struct request_ask ask = { .services = operands };
    AUTO_BUF struct buf out = BUF_INIT(KEPLER_OUTPUT_MAX);
    const struct value *services;
    struct value body;
    struct err err;
    int status;

    if (kepler_config_path(cli->arena, &args->globals, &ask.config, &err) < 0)
        return kepler_err(&err);
    status = kepler_ask(cli->arena, REQUEST_WHY, &ask, &body);
    if (status != 0)
        return status;
    services = value_get(&body, "services");
    if (args->json)
        return print_why_json(cli->arena, services);
    for (size_t i = 0; services && value_is(services, VALUE_LIST) && i < services->list->count; i++)
        why_print(&services->list->items[i], &out);
    (void)fputs(buf_text(&out), stdout);
    return KEPLER_OK;
}

const struct command kepler_command_why = {
    .name = "why",
    .operands = "SERVICE...",
    .lookup = "graph",
    .summary = "explain the state of a service, and what it waits for",
    .details =
        "The first line is the current state. Below it, what the service waits for, down to\n"
        "services that wait for nothing; then its last changes, latest first, each with its "
        "cause:\n"
        "who requested it, which dependency met which condition or restarts, which hook failed,\n"
        "how a process ended. Indented below a change is what caused it in other services.\n",
    .examples = "  kepler why web\n  kepler why --json web db\n",
    .options = why_options,
    .args_size = sizeof(struct why_args),
    .least = 1,
    .most = COMMAND_MANY,
    .run = run_kepler_why,
};
