/* module.wait - functions that are called when a watched state changed. */
#include "states/modules/module/calls.h"
#include "states/state/module.h"

const struct module module_module_wait = {
    .name = "module.wait",
    .summary = "call a function when a watched state changed, and only then",
    .details = "What is called is written as in module.run; it is always a function.",
    .example = "name: test.echo\ntext: hello\n",
    .params = calls_params,
    .args_size = sizeof(struct calls_args),
    .flags = MODULE_NO_UNDO,
    .validate = calls_validate,
    .check = calls_check_watched,
    .apply = calls_run,
};
