/* kepler apply, diff: go on with a changed file; show what has changed in it. */
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "commands/cli/kepler/client.h"
#include "commands/cli/kepler/kepler.h"
#include "commands/cli/kepler/progress.h"
#include "core/sys/clock.h"

/* The exit status of diff when the file differs, as of `diff` and --detailed-exitcode. */
#define KEPLER_DIFFERENT 2

struct apply_args {
    struct kepler_globals globals;
    bool test, wait, revert, json;
    int64_t timeout;
};

#define ARGS struct apply_args
static const struct param apply_options[] = {
    PARAM("test", BOOL, ARGS, test, "only show what would be done"),
    PARAM("wait", BOOL, ARGS, wait, "return when all services that were touched are ready"),
    PARAM("timeout", DURATION, ARGS, timeout, "with --wait: give up after this long",
          PARAM_RANGE(CLOCK_MS, INT64_MAX)),
    PARAM("revert-on-failure", BOOL, ARGS, revert,
          "with --wait: run the former definitions again if that fails"),
    PARAM("json", BOOL, ARGS, json, "print JSON"),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};
static const struct param diff_options[] = {
    PARAM("json", BOOL, ARGS, json, "print JSON"),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};
#undef ARGS

/* --- what has changed ----------------------------------------------------------------------- */

static const char *get_plan_text(const struct value *map, const char *key)
{
    const struct value *v = value_get(map, key);

    return v && value_is(v, VALUE_STR) ? v->s.p : "";
}

static const struct value_list *get_plan_list(const struct value *map, const char *key)
{
    static const struct value_list none;
    const struct value *v = value_get(map, key);

    return v && value_is(v, VALUE_LIST) ? v->list : &none;
}

static void print_side(const struct value *v, struct buf *out)
{
    struct err ignored;

    if (!v || value_is(v, VALUE_NULL))
        buf_add_str(out, STR("(none)"));
    else
        (void)json_print(out, v, JSON_STYLE_COMPACT | JSON_STYLE_TEXT, &ignored);
}

static void print_keys(const struct value_list *keys)
{
    for (size_t i = 0; i < keys->count; i++) {
        AUTO_BUF struct buf line = BUF_INIT(KEPLER_OUTPUT_MAX);

        buf_printf(&line, "  %s: ", get_plan_text(&keys->items[i], "key"));
        print_side(value_get(&keys->items[i], "old"), &line);
        buf_add_str(&line, STR(" -> "));
        print_side(value_get(&keys->items[i], "new"), &line);
        puts(buf_text(&line));
    }
}

static void print_differences(const struct value *plan)
{
    static const char *const notes[][2] = { { "start", " (new)" }, { "stop", " (removed)" } };
    const struct value_list *services = get_plan_list(plan, "services");
    const struct value_list *file = get_plan_list(plan, "file");

    if (file->count > 0)
        puts("whole file");
    print_keys(file);
    for (size_t i = 0; i < services->count; i++) {
        const struct value *one = &services->items[i];
        const char *note = "";

        for (size_t n = 0; n < ARRAY_LEN(notes); n++)
            if (strcmp(get_plan_text(one, "action"), notes[n][0]) == 0)
                note = notes[n][1];
        if (note[0] || get_plan_list(one, "changed")->count > 0)
            printf("%s%s\n", get_plan_text(one, "service"), note);
        print_keys(get_plan_list(one, "changed"));
    }
}

/* --- the plan ------------------------------------------------------------------------------- */

static void print_reason(const struct value *one, struct buf *out)
{
    const struct value_list *keys = get_plan_list(one, "changed");
    const char *cause = get_plan_text(one, "cause"), *action = get_plan_text(one, "action");

    for (size_t i = 0; i < keys->count; i++)
        buf_printf(out, "%s%s", i > 0 ? ", " : "", get_plan_text(&keys->items[i], "key"));
    if (keys->count > 0)
        buf_add_str(out, STR(" changed"));
    if (cause[0])
        buf_printf(out, "%sdependency %s restarts", keys->count > 0 ? "; " : "", cause);
    if (out->n > 0)
        return;
    if (strcmp(action, "start") == 0)
        buf_add_str(out, STR("new"));
    else if (strcmp(action, "stop") == 0)
        buf_add_str(out, STR("no longer in the file"));
}

static void print_plan(const struct value *plan)
{
    const struct value_list *services = get_plan_list(plan, "services");
    const struct value *unchanged = value_get(plan, "unchanged");

    for (size_t i = 0; i < services->count; i++) {
        AUTO_BUF struct buf reason = BUF_INIT(KEPLER_OUTPUT_MAX);

        print_reason(&services->items[i], &reason);
        printf("%-8s  %s: %s\n", get_plan_text(&services->items[i], "action"),
               get_plan_text(&services->items[i], "service"), buf_text(&reason));
    }
    if (services->count == 0)
        puts("No changes");
    else if (unchanged && value_is(unchanged, VALUE_INT))
        printf("%lld unchanged\n", (long long)unchanged->i);
}

/* --- commands ------------------------------------------------------------------------------- */

static int ask_for_plan(struct cli *cli, const struct apply_args *args, enum request_kind kind,
                        struct value *ret_plan)
{
    struct request_apply request = {
        .test = args->test, .ready = args->wait, .revert = args->revert, .timeout = args->timeout
    };
    struct err err;

    if (kepler_config_path(cli->arena, &args->globals, &request.start.config, &err) < 0)
        return kepler_err(&err);
    return kepler_ask(cli->arena, kind, &request, ret_plan);
}

static int run_apply(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct apply_args *args = raw;
    struct value plan;
    int status;

    (void)operands;
    if (args->test && args->wait)
        return cli_usage(cli, "--test does nothing to wait for: leave out --wait");
    if (!args->wait && (args->timeout > 0 || args->revert))
        return cli_usage(cli, "%s requires --wait",
                         args->revert ? "--revert-on-failure" : "--timeout");
    status = ask_for_plan(cli, args, REQUEST_APPLY, &plan);
    if (status != 0)
        return status;
    if (args->json) {
        status = kepler_print_json(&plan);
        return status == 0 && get_plan_list(&plan, "errors")->count > 0 ? KEPLER_FAILED : status;
    }
    if (!args->globals.quiet)
        print_plan(&plan);
    return kepler_tell(args->globals.quiet, stdout, &plan);
}

static int run_diff(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct apply_args *args = raw;
    struct value plan;
    int status = ask_for_plan(cli, args, REQUEST_DIFF, &plan);

    (void)operands;
    if (status != 0)
        return status == KEPLER_UNREACHABLE ? KEPLER_FAILED : status;
    if (args->json)
        status = kepler_print_json(&plan);
    else if (!args->globals.quiet)
        print_differences(&plan);
    if (status != 0)
        return status;
    return value_get_bool(&plan, "same") ? KEPLER_OK : KEPLER_DIFFERENT;
}

const struct command kepler_command_apply = {
    .name = "apply",
    .operands = "",
    .summary = "go on with a changed file: touch only services that changed",
    .details =
        "Reads the file again and compares it with what is loaded. New services start, those that\n"
        "are gone stop, and those that changed restart, with all that depend on them with\n"
        "'restart: true'. Changes that need no restart (depends_on, log retention, the restart\n"
        "policy, stop signals and periods) are taken over in place. All others go on running.\n"
        "A stopped service stays stopped. The environment and flags stay as they are loaded.\n"
        "Mistakes in the file, and changes of 'kepler:' or 'lua:', are refused before anything\n"
        "moves: 'kepler run' reads those again.\n",
    .examples = "  kepler apply --test\n"
                "  kepler apply --wait --timeout 1m --revert-on-failure\n",
    .options = apply_options,
    .args_size = sizeof(struct apply_args),
    .least = 0,
    .most = 0,
    .run = run_apply,
};

const struct command kepler_command_diff = {
    .name = "diff",
    .operands = "",
    .summary = "compare the loaded config with its file",
    .details = "Shows each changed key, old -> new. Values of 'environment' are never shown.\n"
               "Exit status: 0 same, 2 different, 1 error.\n",
    .examples = "  kepler diff\n",
    .options = diff_options,
    .args_size = sizeof(struct apply_args),
    .least = 0,
    .most = 0,
    .run = run_diff,
};
