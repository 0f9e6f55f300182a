/* kepler inspect: all details of a config. */
#include "core/base/err.h"
#include "commands/cli/kepler/client.h"
#include "commands/cli/kepler/kepler.h"

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
    PARAM("flags", BOOL, ARGS, flags, "values of -D"),
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
    struct value body;
    struct err err;
    int status;

    if (kepler_config_path(cli->arena, &args->globals, &ask.config, &err) < 0)
        return kepler_err(&err);
    status = kepler_ask(cli->arena, REQUEST_INSPECT, &ask, &body);
    return status != 0 ? status : kepler_print_json(&body);
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
