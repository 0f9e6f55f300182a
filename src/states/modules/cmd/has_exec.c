/* cmd.has_exec - whether a program is in PATH. */
#include "states/state/module.h"
#include "core/sys/program.h"

#define ARGS struct has_exec_args

struct has_exec_args {
    const char *cmd;
};

/* clang-format off */
static const struct param has_exec_params[] = {
    PARAM("cmd", STR, ARGS, cmd, "the name of a program", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "name"),
    { 0 },
};
/* clang-format on */

static int has_exec_call(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    const struct has_exec_args *want = args;

    (void)err;
    *ret = value_bool(program_find(run->arena, want->cmd) != NULL);
    return 0;
}

const struct module module_cmd_has_exec = {
    .name = "cmd.has_exec",
    .summary = "whether a program is in PATH",
    .params = has_exec_params,
    .args_size = sizeof(struct has_exec_args),
    .call = has_exec_call,
};
