/* cmd.wait - runs a command when a watched state changed. */
#include "base/err.h"
#include "modules/cmd/command.h"
#include "modules/cmd/stateful.h"
#include "state/module.h"
#include "sys/process.h"

#define ARGS struct wait_args

struct wait_args {
    const char *command;
    struct command_args how;
    bool stateful;
};

/* clang-format off */
static const struct param wait_params[] = {
    PARAM("command", STR, ARGS, command, "the command, run through the shell", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "name,cmd"),
    COMMAND_PARAMS(ARGS, how),
    PARAM("stateful", BOOL, ARGS, stateful, "the last line of output reports whether anything changed: changed=yes comment='...'"),
    { 0 },
};
/* clang-format on */

static int wait_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct wait_args *want = args;

    (void)where;
    return command_validate(&want->how, diags);
}

/* It runs only for a watch, and then apply is forced without a check. */
static int wait_check(struct state_run *run, const void *args, struct err *err)
{
    const struct wait_args *want = args;

    (void)err;
    if (run->forced)
        state_differs(run, "command \"%s\" will run", want->command);
    return 0;
}

static int wait_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct wait_args *want = args;
    const struct command command = { .text = want->command };
    struct process_result result;

    if (command_run(run, &want->how, &command, &result, err) < 0 ||
        command_judge(run, &want->how, &command, &result, err) < 0)
        return -1;
    state_say(run, "executed \"%s\" (exit %d)", want->command, result.status.code);
    return want->stateful ? stateful_read(run, result.out, err) : 0;
}

const struct module module_cmd_wait = {
    .name = "cmd.wait",
    .summary = "run a command when a watched state changed, and only then",
    .example = "command: systemctl reload nginx\n",
    .params = wait_params,
    .flags = MODULE_NO_UNDO,
    .args_size = sizeof(struct wait_args),
    .validate = wait_validate,
    .check = wait_check,
    .apply = wait_apply,
};
