/* module.run - runs another module by name: a state, or a function. */
#include "states/modules/module/calls.h"
#include "states/state/module.h"

static int run_check(struct state_run *run, const void *args, struct err *err)
{
    (void)err;
    calls_say(run, args);
    return 0;
}

const struct module module_module_run = {
    .name = "module.run",
    .summary = "run another module by name: a state, or a function",
    .details =
        "A target that is a state is checked, applied and reverted as that state:\n"
        "\n"
        "    refresh:\n"
        "      module.run:\n"
        "        - name: cmd.run\n"
        "        - command: apt-get update\n"
        "    touch:\n"
        "      module.run:\n"
        "        - file.touch:\n"
        "            path: /run/flag\n"
        "\n"
        "An argument called 'name' is written as 'm_name'. Arguments may be positional: '- "
        "service.restart: [nginx]'. The ID may be the target too.\n\n"
        "A target that is a function is called on every run; its result is in the details. A Salt "
        "file may name several functions, which are called in their order, and one that returns "
        "false fails the state; a state cannot be one of several.\n",
    .example = "name: test.echo\ntext: hello\n",
    .params = calls_params,
    .args_size = sizeof(struct calls_args),
    .flags = MODULE_ALWAYS | MODULE_NO_UNDO,
    .validate = calls_validate,
    .check = run_check,
    .apply = calls_run,
};
