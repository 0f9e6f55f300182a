/* kepler reload: have services read their own configuration again. */
#include <stdio.h>

#include "core/base/err.h"
#include "commands/cli/kepler/client.h"
#include "commands/cli/kepler/kepler.h"

struct reload_args {
    struct kepler_globals globals;
};

static const struct param reload_options[] = {
    KEPLER_GLOBALS(struct reload_args, globals),
    { 0 },
};

static int run_reload(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct reload_args *args = raw;
    struct request_ask ask = { .services = operands };
    struct value body;
    struct err err;
    int status;

    if (operands.n == 0)
        return cli_usage(cli, "missing SERVICE: 'kepler run' reads the config again");
    if (kepler_config_path(cli->arena, &args->globals, &ask.config, &err) < 0)
        return kepler_err(&err);
    status = kepler_ask(cli->arena, REQUEST_RELOAD, &ask, &body);
    return status == 0 ? kepler_tell(args->globals.quiet, stdout, &body) : status;
}

const struct command kepler_command_reload = {
    .name = "reload",
    .operands = "SERVICE...",
    .lookup = "graph",
    .summary = "have services read their own configuration again",
    .details =
        "Sends reload_signal (SIGHUP) to the main process of each service. A service that neither\n"
        "handles nor ignores that signal would be ended by it: then nothing is sent. The config\n"
        "of kepler is not read again: see 'run'.\n",
    .examples = "  kepler reload web\n",
    .options = reload_options,
    .args_size = sizeof(struct reload_args),
    .least = 0,
    .most = COMMAND_MANY,
    .run = run_reload,
};
