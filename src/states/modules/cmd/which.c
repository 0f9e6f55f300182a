/* cmd.which - the path of a program in PATH, or an empty string. */
#include "states/state/module.h"
#include "core/sys/program.h"

#define ARGS struct which_args

struct which_args {
    const char *cmd;
};

/* clang-format off */
static const struct param which_params[] = {
    PARAM("cmd", STR, ARGS, cmd, "the name of a program", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "name"),
    { 0 },
};
/* clang-format on */

static int which_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct which_args *want = args;
    const char *found = program_find(run->arena, want->cmd);

    (void)err;
    *ret = value_text(found ? found : "");
    return 0;
}

const struct module module_cmd_which = {
    .name = "cmd.which",
    .summary = "the path of a program in PATH, or an empty string",
    .params = which_params,
    .args_size = sizeof(struct which_args),
    .call = which_call,
};
