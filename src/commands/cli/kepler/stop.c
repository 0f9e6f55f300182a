/* kepler stop, restart. */
#include <stdio.h>

#include "core/base/err.h"
#include "commands/cli/kepler/kepler.h"
#include "commands/cli/kepler/client.h"
#include "commands/cli/kepler/follow.h"
#include "commands/cli/kepler/progress.h"
#include "core/sys/clock.h"

/* --- stop ------------------------------------------------------------------------------------ */

struct stop_args {
    struct kepler_globals globals;
    bool clean;
    const char *signal;
};

#define ARGS struct stop_args

static const struct param stop_options[] = {
    PARAM("clean", BOOL, ARGS, clean, "run pre_cleanup hooks and remove stored data"),
    PARAM("signal", STR, ARGS, signal,
          "a signal name or number, instead of each service's stop_signal", .kind_text = "SIGNAL",
          .aliases = "s"),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};
#undef ARGS

static int run_stop(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct stop_args *args = raw;
    struct request_stop stop = { .services = operands,
                                 .clean = args->clean,
                                 .signal = args->signal };
    struct kepler_progress progress;
    struct value body;
    struct err err;
    int status;

    if (kepler_config_path(cli->arena, &args->globals, &stop.config, &err) < 0)
        return kepler_err(&err);
    kepler_progress_init(&progress, !args->globals.quiet);
    stop.progress = progress.on;
    status = kepler_ask_with(cli->arena, REQUEST_STOP, &stop, &progress, &body);
    kepler_progress_done(&progress);
    return status == 0 ? kepler_tell(args->globals.quiet, stderr, &body) : status;
}

const struct command kepler_command_stop = {
    .name = "stop",
    .operands = "[SERVICE...]",
    .lookup = "graph",
    .summary = "stop services, dependents first",
    .details =
        "Returns when nothing of their process trees is left. Each service gets its stop_signal\n"
        "(SIGTERM), and SIGKILL after its stop_grace_period (10s). Stored logs are removed if\n"
        "logs.retention.on_stop says so. A stop cancels any restart that is due.\n"
        "\n"
        "--clean runs the pre_cleanup hooks of services that ever ran; without names, the config\n"
        "is then unloaded, and its state, logs and outputs are removed.\n",
    .examples = "  kepler stop\n  kepler stop web -s INT\n  kepler stop --clean\n",
    .options = stop_options,
    .args_size = sizeof(struct stop_args),
    .least = 0,
    .most = COMMAND_MANY,
    .run = run_stop,
};

const struct command kepler_command_down = {
    .name = "down",
    .operands = "[SERVICE...]",
    .lookup = "graph",
    .summary = "the same as stop",
    .details =
        "What was stored stays: logs can be read, and 'up' starts the services again. --clean\n"
        "removes all of it.\n",
    .examples = "  kepler down\n  kepler down --clean\n",
    .options = stop_options,
    .args_size = sizeof(struct stop_args),
    .least = 0,
    .most = COMMAND_MANY,
    .run = run_stop,
};

/* --- restart --------------------------------------------------------------------------------- */

struct restart_args {
    struct kepler_globals globals;
    bool wait, follow, raw, no_deps, refresh_env;
    int64_t timeout;
    struct param_strs environment, flags;
};

#define ARGS struct restart_args

/* clang-format off */
static const struct param restart_options[] = {
    PARAM("wait",        BOOL,     ARGS, wait, "return when all are ready"),
    PARAM("follow",      BOOL,     ARGS, follow, "then follow their logs"),
    PARAM("timeout",     DURATION, ARGS, timeout, "with --wait: give up after this long", PARAM_RANGE(CLOCK_MS, INT64_MAX)),
    PARAM("raw",         BOOL,     ARGS, raw, "with --follow: print lines exactly as services wrote them"),
    PARAM("no-deps",     BOOL,     ARGS, no_deps, "restart all at once, without ordering"),
    KEPLER_ENVIRONMENT(ARGS, environment, refresh_env),
    KEPLER_FLAGS(ARGS, flags),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};
/* clang-format on */

/* One request, so that logs and failures are seen from the start. */
static int restart_and_stay(struct cli *cli, const struct restart_args *args,
                            const struct request_start *request)
{
    struct kepler_follow follow = {
        .kind = REQUEST_RESTART,
        .start = *request,
        .detached = args->wait,
        .only_look = args->follow,
        .quiet = args->globals.quiet,
        .verbose = args->globals.verbose,
        .timeout = args->timeout,
        .form = args->raw ? LOG_LINE_RAW : LOG_LINE_PLAIN,
        .color = cli->color,
    };

    follow.start.follow = true;
    follow.start.logs = args->follow;
    return kepler_follow(cli->arena, &follow);
}

static int run_restart(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct restart_args *args = raw;
    struct request_start request = {
        .services = operands,
        .no_deps = args->no_deps,
        .refresh_env = args->refresh_env,
        .environment = kepler_environment(cli->arena),
        .overrides = kepler_pairs(cli->arena, "-e", args->environment),
        .flags = kepler_pairs(cli->arena, "-D", args->flags),
    };
    struct kepler_progress progress;
    struct value body;
    struct err err;
    int status;

    if (args->no_deps && operands.n == 0)
        return cli_usage(cli, "--no-deps requires at least one service: write 'kepler restart "
                              "--no-deps SERVICE', or 'kepler restart' for all in their order");
    if (args->wait && args->follow)
        return cli_usage(cli, "--wait and --follow are mutually exclusive");
    if (args->timeout > 0 && !args->wait)
        return cli_usage(cli, "--timeout requires --wait");
    if (kepler_config_path(cli->arena, &args->globals, &request.config, &err) < 0)
        return kepler_err(&err);
    if (args->wait || args->follow)
        return restart_and_stay(cli, args, &request);
    kepler_progress_init(&progress, !args->globals.quiet);
    request.progress = progress.on;
    status = kepler_ask_with(cli->arena, REQUEST_RESTART, &request, &progress, &body);
    kepler_progress_done(&progress);
    return status == 0 ? kepler_tell(args->globals.quiet, stdout, &body) : status;
}

const struct command kepler_command_restart = {
    .name = "restart",
    .operands = "[SERVICE...]",
    .lookup = "graph",
    .summary = "restart running services",
    .details =
        "Dependents stop first and start last. Services that do not run are left alone. Each\n"
        "service is evaluated again, but the file is not reloaded: see 'recreate'. Returns\n"
        "when they are up again; with --wait when they are ready. With --follow, logs are shown\n"
        "from the start of the restart, and Ctrl+C only ends the command.\n",
    .examples = "  kepler restart\n  kepler restart web --wait --timeout 30s -e DEBUG=1\n",
    .options = restart_options,
    .args_size = sizeof(struct restart_args),
    .least = 0,
    .most = COMMAND_MANY,
    .run = run_restart,
};
