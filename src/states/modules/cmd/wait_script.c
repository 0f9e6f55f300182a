/* cmd.wait_script - run a script from a source when a watched state changed. */
#include "core/base/err.h"
#include "states/modules/cmd/scripting.h"
#include "states/state/module.h"

/* It runs only for a watch, and then apply is forced without a check. */
static int wait_script_check(struct state_run *run, const void *args, struct err *err)
{
    const struct scripting_args *want = args;

    (void)err;
    if (run->forced)
        state_differs(run, "script \"%s\" will run", want->name);
    return 0;
}

const struct module module_cmd_wait_script = {
    .name = "cmd.wait_script",
    .summary = "run a script from a source when a watched state changed, and only then",
    .example = "name: salt://reload.sh\n",
    .params = scripting_params,
    .args_size = sizeof(struct scripting_args),
    .flags = MODULE_NO_UNDO,
    .validate = scripting_validate,
    .check = wait_script_check,
    .apply = scripting_run,
};
