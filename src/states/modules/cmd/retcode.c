/* cmd.retcode - runs a command and returns its exit status. */
#include "states/modules/cmd/command.h"
#include "states/state/module.h"
#include "core/sys/process.h"

#define ARGS struct retcode_args

struct retcode_args {
    const char *command;
    struct command_args how;
};

/* clang-format off */
static const struct param retcode_params[] = {
    PARAM("command", STR, ARGS, command, "the command, run through the shell", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "name,cmd"),
    COMMAND_PARAMS(ARGS, how),
    { 0 },
};
/* clang-format on */

static int retcode_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct retcode_args *want = args;
    const struct shell_command command = { .text = want->command };
    struct process_result result;

    if (command_run(run, &want->how, &command, &result, err) < 0)
        return -1;
    *ret = value_int(result.status.code);
    return 0;
}

const struct module module_cmd_retcode = {
    .name = "cmd.retcode",
    .summary = "run a command and return its exit status",
    .params = retcode_params,
    .args_size = sizeof(struct retcode_args),
    .flags = MODULE_ACTS,
    .call = retcode_call,
};
