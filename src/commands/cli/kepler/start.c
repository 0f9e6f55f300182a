/* kepler start, run, recreate: bring services up. */
#include <stdio.h>
#include <string.h>

#include "kepler/access/hardening.h"
#include "core/base/err.h"
#include "commands/cli/kepler/kepler.h"
#include "commands/cli/kepler/client.h"
#include "commands/cli/kepler/follow.h"
#include "commands/cli/kepler/progress.h"
#include "core/sys/clock.h"

struct start_args {
    struct kepler_globals globals;
    bool detach, wait, no_deps, refresh_env, raw, json, abort, no_abort, start_clean, clean;
    int64_t timeout;
    struct param_strs environment, flags;
    const char *hardening;
    bool needs; /* up */
};

#define ARGS struct start_args

/* clang-format off */
#define START_OPTIONS \
    PARAM("detach",              BOOL,     ARGS, detach, "return at once, services keep running", .aliases = "d"), \
    PARAM("wait",                BOOL,     ARGS, wait, "with -d: return when all are ready"), \
    PARAM("timeout",             DURATION, ARGS, timeout, "with --wait: give up after this long", PARAM_RANGE(CLOCK_MS, INT64_MAX)), \
    KEPLER_ENVIRONMENT(ARGS, environment, refresh_env), \
    KEPLER_FLAGS(ARGS, flags), \
    PARAM("raw",                 BOOL,     ARGS, raw, "print lines exactly as services wrote them"), \
    PARAM("json",                BOOL,     ARGS, json, "print lines as JSON objects"), \
    PARAM("abort-on-failure",    BOOL,     ARGS, abort, "stop all services at the first unhandled failure"), \
    PARAM("no-abort-on-failure", BOOL,     ARGS, no_abort, "with --wait: leave the others running after a failure"), \
    KEPLER_HARDENING(ARGS, hardening)

#define NO_DEPS PARAM("no-deps",             BOOL,     ARGS, no_deps, "do not wait for dependencies")

static const struct param start_options[] = {
    START_OPTIONS,
    NO_DEPS,
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};

static const struct param up_options[] = {
    START_OPTIONS,
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};

static const struct param run_options[] = {
    START_OPTIONS,
    NO_DEPS,
    PARAM("start-clean", BOOL, ARGS, start_clean, "remove stored logs and outputs first"),
    PARAM("clean",       BOOL, ARGS, clean, "in the foreground: remove all stored data at the end"),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};

static const struct param recreate_options[] = {
    KEPLER_FLAGS(ARGS, flags),
    KEPLER_HARDENING(ARGS, hardening),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};
/* clang-format on */

/* A conflict between options. NULL: none. */
static const char *find_start_conflict(const struct start_args *args, size_t names)
{
    const struct {
        bool wrong;
        const char *text;
    } rules[] = {
        { args->wait && !args->detach, "--wait requires -d" },
        { args->timeout > 0 && !args->wait, "--timeout requires --wait" },
        { args->no_abort && !args->wait, "--no-abort-on-failure requires --wait" },
        { args->detach && (args->raw || args->json || args->abort),
          "--raw, --json and --abort-on-failure cannot be used with -d" },
        { args->detach && args->clean, "--clean cannot be used with -d" },
        { args->raw && args->json, "--raw and --json are mutually exclusive" },
        { args->no_deps && names == 0, "--no-deps requires at least one service" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (rules[i].wrong)
            return rules[i].text;
    return NULL;
}

static int make_start_request(struct cli *cli, const struct start_args *args,
                              struct param_strs names, struct request_start *ret)
{
    enum hardening level;
    struct err err;

    if (args->hardening && hardening_parse(str_from(args->hardening), &level, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    *ret = (struct request_start){
        .services = names,
        .no_deps = args->no_deps,
        .hardening = args->hardening,
        .refresh_env = args->refresh_env,
        .start_clean = args->start_clean,
        .clean_after = args->clean,
        .needs = args->needs,
        .apart = true,
        .follow = !args->detach || args->wait,
        .logs = !args->detach,
        .environment = kepler_environment(cli->arena),
        .overrides = kepler_pairs(cli->arena, "-e", args->environment),
        .flags = kepler_pairs(cli->arena, "-D", args->flags),
    };
    if (kepler_config_path(cli->arena, &args->globals, &ret->config, &err) < 0)
        return kepler_err(&err);
    return 0;
}

static int send_start_request(struct cli *cli, const struct start_args *args,
                              struct param_strs names, enum request_kind kind)
{
    const char *clash = find_start_conflict(args, names.n);
    struct kepler_follow follow = {
        .kind = kind,
        .detached = args->detach,
        .abort = args->detach ? !args->no_abort : args->abort,
        .clean = args->clean,
        .quiet = args->globals.quiet,
        .verbose = args->globals.verbose,
        .timeout = args->timeout,
        .form = args->raw    ? LOG_LINE_RAW
                : args->json ? LOG_LINE_JSON
                             : LOG_LINE_PLAIN,
        .color = cli->color,
    };
    struct kepler_progress progress;
    struct value body;
    int status;

    if (clash)
        return cli_usage(cli, "%s", clash);
    status = make_start_request(cli, args, names, &follow.start);
    if (status != 0)
        return status;
    if (follow.start.follow)
        return kepler_follow(cli->arena, &follow);
    kepler_progress_init(&progress, !args->globals.quiet && kind != REQUEST_START);
    follow.start.progress = progress.on;
    status = kepler_ask_with(cli->arena, kind, &follow.start, &progress, &body);
    kepler_progress_done(&progress);
    return status == 0 ? kepler_tell(args->globals.quiet, stdout, &body) : status;
}

static int run_start(struct cli *cli, const void *args, struct param_strs operands)
{
    return send_start_request(cli, args, operands, REQUEST_START);
}

static int run_up(struct cli *cli, const void *raw, struct param_strs operands)
{
    struct start_args args = *(const struct start_args *)raw;

    args.needs = operands.n > 0;
    return send_start_request(cli, &args, operands, REQUEST_START);
}

static int run_run(struct cli *cli, const void *args, struct param_strs operands)
{
    return send_start_request(cli, args, operands, REQUEST_RUN);
}

static int run_recreate(struct cli *cli, const void *raw, struct param_strs operands)
{
    struct start_args args = *(const struct start_args *)raw;

    args.detach = true;
    return send_start_request(cli, &args, operands, REQUEST_RECREATE);
}

const struct command kepler_command_start = {
    .name = "start",
    .operands = "[SERVICE...]",
    .lookup = "graph",
    .summary = "start services and follow their logs",
    .details =
        "The config is read when it is first started; later changes to the file have no effect\n"
        "until 'recreate' or 'run'. Running services are left alone; those that have ended,\n"
        "failed or were skipped are started again, whatever their restart policy.\n"
        "\n"
        "Without -d, logs are shown until all services have ended for good; Ctrl+C stops the\n"
        "services that this command started, a second one only ends the command. With -d it\n"
        "returns at once or, if services are named, as soon as they run or cannot. Named services\n"
        "do not start their dependencies, but wait for them, and their 'if' is not evaluated.\n"
        "\n"
        "A failure that no other service handles (by service_failed or service_stopped) gives\n"
        "exit status 1 in the foreground and with --wait; with --wait it also stops all services,\n"
        "unless --no-abort-on-failure is given. So does a named service that was skipped.\n"
        "\n"
        "--hardening is for configs of users other than root: services may run as any user "
        "(none),\n"
        "as any but root (no-root, the default), or as the owner alone (strict). The daemon may\n"
        "demand more: its own level is strict, unless root has started it with another.\n",
    .examples = "  kepler start\n"
                "  kepler start -d --wait --timeout 30s\n"
                "  kepler -f web.yaml start -d db -e DEBUG=1\n",
    .options = start_options,
    .args_size = sizeof(struct start_args),
    .least = 0,
    .most = COMMAND_MANY,
    .run = run_start,
};

const struct command kepler_command_up = {
    .name = "up",
    .operands = "[SERVICE...]",
    .lookup = "graph",
    .summary = "start services and everything that they need",
    .details =
        "Like start, but the dependencies of the named services are started, too, and theirs in\n"
        "turn; each service waits for its conditions. A dependency that has ended as it should\n"
        "is not run again, one whose 'if' is false is skipped. Everything else is left alone,\n"
        "and the file is not read again. Without names, all services are started.\n",
    .examples = "  kepler up -d web\n  kepler up -d --wait --timeout 30s web worker\n",
    .options = up_options,
    .args_size = sizeof(struct start_args),
    .least = 0,
    .most = COMMAND_MANY,
    .run = run_up,
};

const struct command kepler_command_run = {
    .name = "run",
    .operands = "[SERVICE...]",
    .lookup = "graph",
    .summary = "stop, reload the config, and start",
    .details =
        "Like start, but stops running services first and reads the file again. Stored logs\n"
        "are kept, states are not. With a mistake in the file, nothing is stopped.\n"
        "\n"
        "With names, other services are never stopped or restarted: while any of them is active,\n"
        "the named ones are stopped and started as they were loaded, and a warning says so if\n"
        "the file has changed since.\n",
    .examples = "  kepler run\n  kepler run -d --wait worker\n  kepler run --start-clean --clean\n",
    .options = run_options,
    .args_size = sizeof(struct start_args),
    .least = 0,
    .most = COMMAND_MANY,
    .run = run_run,
};

const struct command kepler_command_recreate = {
    .name = "recreate",
    .operands = "",
    .summary = "stop, remove all stored data, reload the config, and start",
    .details =
        "Like 'stop --clean' and 'start -d', with the environment of this command. With a mistake\n"
        "in the file, nothing is stopped.\n",
    .examples = "  kepler recreate\n  kepler -f web.yaml recreate -D port=8080\n",
    .options = recreate_options,
    .args_size = sizeof(struct start_args),
    .least = 0,
    .most = 0,
    .run = run_recreate,
};
