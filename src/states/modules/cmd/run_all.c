/* cmd.run_all - runs a command and returns its output, error output and exit status. */
#include "states/modules/cmd/command.h"
#include "states/state/module.h"
#include "core/sys/process.h"

#define ARGS struct run_all_args

struct run_all_args {
    const char *command;
    struct command_args how;
};

/* clang-format off */
static const struct param run_all_params[] = {
    PARAM("command", STR, ARGS, command, "the command, run through the shell", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "name,cmd"),
    COMMAND_PARAMS(ARGS, how),
    { 0 },
};
/* clang-format on */

static int run_all_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct run_all_args *want = args;
    const struct shell_command command = { .text = want->command };
    struct value_map *map = value_map_new(run->arena, 4);
    struct process_result result;

    if (command_run(run, &want->how, &command, &result, err) < 0)
        return -1;
    value_map_set(run->arena, map, value_text("retcode"), value_int(result.status.code));
    value_map_set(run->arena, map, value_text("stdout"),
                  value_str(arena_str(run->arena, str_trim(result.out))));
    value_map_set(run->arena, map, value_text("stderr"),
                  value_str(arena_str(run->arena, str_trim(result.err))));
    value_map_set(run->arena, map, value_text("timed_out"), value_bool(result.timed_out));
    *ret = value_map(map);
    return 0;
}

const struct module module_cmd_run_all = {
    .name = "cmd.run_all",
    .summary = "run a command and return its output, error output and exit status",
    .params = run_all_params,
    .args_size = sizeof(struct run_all_args),
    .flags = MODULE_ACTS,
    .call = run_all_call,
};
