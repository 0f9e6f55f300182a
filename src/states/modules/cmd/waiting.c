#include "states/modules/cmd/waiting.h"

#include "core/base/err.h"
#include "states/modules/cmd/stateful.h"
#include "states/state/module.h"
#include "core/sys/process.h"

#define ARGS struct waiting_args

/* clang-format off */
const struct param waiting_params[] = {
    PARAM("command", STR, ARGS, command, "the command, run through the shell", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "name,cmd"),
    COMMAND_PARAMS(ARGS, how),
    PARAM("stateful", ANY, ARGS, stateful, STATEFUL_DOC, .kind_text = "bool"),
    { 0 },
};
/* clang-format on */

int waiting_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct waiting_args *want = args;

    (void)where;
    return command_validate(&want->how, diags) | stateful_validate(want->stateful, diags);
}

/* It runs only for a watch, and then apply is forced without a check. */
int waiting_check(struct state_run *run, const void *args, struct err *err)
{
    const struct waiting_args *want = args;

    (void)err;
    if (run->forced)
        state_differs(run, "command \"%s\" will run", want->command);
    return 0;
}

int waiting_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct waiting_args *want = args;
    const struct shell_command command = { .text = want->command };
    struct process_result result;

    if (command_run(run, &want->how, &command, &result, err) < 0 ||
        command_judge(run, &want->how, &command, &result, err) < 0)
        return -1;
    state_say(run, "executed \"%s\" (exit %d)", want->command, result.status.code);
    return stateful_is_on(want->stateful) ? stateful_read(run, result.out, err) : 0;
}
