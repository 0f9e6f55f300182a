/* cmd.shell - runs a command through the shell and returns its output. */
#include "states/modules/cmd/command.h"
#include "states/state/module.h"
#include "core/sys/process.h"

#define ARGS struct shell_args

struct shell_args {
    const char *command;
    struct command_args how;
};

/* clang-format off */
static const struct param shell_params[] = {
    PARAM("command", STR, ARGS, command, "the command, run through the shell", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "name,cmd"),
    COMMAND_PARAMS(ARGS, how),
    { 0 },
};
/* clang-format on */

static int shell_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct shell_args *want = args;
    const struct shell_command command = { .text = want->command };
    struct process_result result;

    if (command_run(run, &want->how, &command, &result, err) < 0 ||
        command_judge(run, &want->how, &command, &result, err) < 0)
        return -1;
    *ret = value_str(arena_str(run->arena, str_trim(result.out)));
    return 0;
}

const struct module module_cmd_shell = {
    .name = "cmd.shell",
    .summary = "run a command through the shell and return its output",
    .params = shell_params,
    .args_size = sizeof(struct shell_args),
    .flags = MODULE_ACTS,
    .call = shell_call,
};
