/* kepler inspect, why, prune: details, explanations, and cleaning up. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/number.h"
#include "cli/kepler/kepler.h"
#include "cli/kepler/client.h"
#include "data/json.h"
#include "engine/why_text.h"

#define OUTPUT_MAX ((size_t)64 << 20)
#define HASH_SHOWN 8

/* --- inspect --------------------------------------------------------------------------------- */

struct inspect_args {
    struct kepler_globals globals;
    bool services, environment, flags;
};

#define ARGS struct inspect_args

static const struct param inspect_options[] = {
    PARAM("services", BOOL, ARGS, services, "definition, state and outputs of each service",
          .aliases = "s"),
    PARAM("environment", BOOL, ARGS, environment, "environments of the config and of services",
          .aliases = "env"),
    PARAM("flags", BOOL, ARGS, flags, "values given with -D"),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};
#undef ARGS

static int run_inspect(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct inspect_args *args = raw;
    struct request_ask ask = { .services = operands,
                               .with_services = args->services,
                               .with_environment = args->environment,
                               .with_flags = args->flags };
    AUTO_BUF struct buf out = BUF_INIT(OUTPUT_MAX);
    struct value body;
    struct err err;
    int status;

    if (kepler_config_path(cli->arena, &args->globals, &ask.config, &err) < 0)
        return kepler_err(&err);
    status = kepler_ask(cli->arena, REQUEST_INSPECT, &ask, &body);
    if (status != 0)
        return status;
    if (json_print(&out, &body, KEPLER_JSON, &err) < 0)
        return kepler_err(&err);
    puts(buf_text(&out));
    return KEPLER_OK;
}

const struct command kepler_command_inspect = {
    .name = "inspect",
    .operands = "[SERVICE...]",
    .lookup = "graph",
    .summary = "show all details of a config as JSON",
    .details =
        "Without options, shows all sections; with service names, only those services. Configs\n"
        "that are not loaded are shown as last stored.\n",
    .examples = "  kepler inspect | jq .services.web.state\n  kepler inspect web --env\n",
    .options = inspect_options,
    .args_size = sizeof(struct inspect_args),
    .least = 0,
    .most = COMMAND_MANY,
    .run = run_inspect,
};

/* --- why ------------------------------------------------------------------------------------- */

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
static int print_why_json(struct arena *arena, const struct value *services, struct buf *out,
                          struct err *err)
{
    struct value_map *map = value_map_new(arena, 4);
    struct value whole = value_map(map);

    for (size_t i = 0; services && value_is(services, VALUE_LIST) && i < services->list->count;
         i++) {
        const struct value *name = value_get(&services->list->items[i], "service");

        if (name)
            value_map_set(arena, map, *name, services->list->items[i]);
    }
    if (json_print(out, &whole, KEPLER_JSON, err) < 0)
        return -1;
    buf_add_char(out, '\n');
    return 0;
}

static int run_why(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct why_args *args = raw;
    struct request_ask ask = { .services = operands };
    AUTO_BUF struct buf out = BUF_INIT(OUTPUT_MAX);
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
    if (args->json && print_why_json(cli->arena, services, &out, &err) < 0)
        return kepler_err(&err);
    for (size_t i = 0;
         !args->json && services && value_is(services, VALUE_LIST) && i < services->list->count;
         i++)
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
    .run = run_why,
};

/* --- prune ----------------------------------------------------------------------------------- */

struct prune_args {
    struct kepler_globals globals;
    bool force, dry_run;
};

#define ARGS struct prune_args

static const struct param prune_options[] = {
    PARAM("force", BOOL, ARGS, force, "also stop and remove configs that run"),
    PARAM("dry-run", BOOL, ARGS, dry_run, "only list what would be removed"),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};
#undef ARGS

static void print_pruned(const struct value *configs, bool verbose, struct buf *out)
{
    uint64_t total = 0;
    size_t count = 0;

    for (size_t i = 0; configs && value_is(configs, VALUE_LIST) && i < configs->list->count; i++) {
        const struct value *one = &configs->list->items[i], *size = value_get(one, "size");
        uint64_t bytes = size && value_is(size, VALUE_INT) ? (uint64_t)size->i : 0;
        const char *word = value_get_view(one, "status").p;

        buf_printf(out, "%s  %s  %.*s  ", word, value_get_view(one, "path").p,
                   verbose ? INT_MAX : HASH_SHOWN, value_get_view(one, "hash").p);
        number_print_size(bytes, out);
        buf_add_char(out, '\n');
        if (strcmp(word, "running") == 0 || strncmp(word, "failed", strlen("failed")) == 0)
            continue;
        total += bytes;
        count++;
    }
    buf_printf(out, "Total: %zu config%s, ", count, count == 1 ? "" : "s");
    number_print_size(total, out);
    buf_add_char(out, '\n');
}

static int run_prune(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct prune_args *args = raw;
    const struct request_prune prune = { args->force, args->dry_run };
    AUTO_BUF struct buf out = BUF_INIT(OUTPUT_MAX);
    struct value body;
    int status = kepler_ask(cli->arena, REQUEST_PRUNE, &prune, &body);

    (void)operands;
    if (status != 0)
        return status;
    print_pruned(value_get(&body, "configs"), args->globals.verbose, &out);
    (void)fputs(buf_text(&out), stdout);
    return KEPLER_OK;
}

const struct command kepler_command_prune = {
    .name = "prune",
    .operands = "",
    .summary = "remove stored data of configs that do not run",
    .details =
        "Removes state, logs and outputs of all configs of this daemon that have no running\n"
        "service. Configs whose file is gone are listed as orphaned. Requires root, or the user\n"
        "who runs the daemon.\n",
    .examples = "  kepler prune --dry-run\n  kepler prune\n",
    .options = prune_options,
    .args_size = sizeof(struct prune_args),
    .least = 0,
    .most = 0,
    .run = run_prune,
};
