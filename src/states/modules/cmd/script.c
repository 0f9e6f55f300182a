/* cmd.script - runs a script from a source. */
#include "core/base/err.h"
#include "states/modules/cmd/scripting.h"
#include "states/state/module.h"

static int script_check(struct state_run *run, const void *args, struct err *err)
{
    const struct scripting_args *want = args;

    state_differs(run, "script \"%s\" will run", want->name);
    return scripting_bind(run, want, err);
}

const struct module module_cmd_script = {
    .name = "cmd.script",
    .summary = "run a script from a source",
    .details = "The script is fetched, rendered if it is a template, written to a file that only "
               "its user can read, run, and removed.",
    .example = "name: make\nsource: ROOT/script.sh\nargs: ROOT/made\n",
    .params = scripting_params,
    .args_size = sizeof(struct scripting_args),
    .flags = MODULE_ALWAYS | MODULE_NO_UNDO,
    .validate = scripting_validate,
    .check = script_check,
    .apply = scripting_run,
};
