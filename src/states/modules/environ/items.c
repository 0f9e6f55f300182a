/* environ.items - zester's own environment. */
#include "states/modules/environ/environment.h"
#include "states/state/module.h"

static int items_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)args;
    (void)err;
    *ret = environment_list(run->arena);
    return 0;
}

const struct module module_environ_items = {
    .name = "environ.items",
    .summary = "zester's own environment",
    .params = params_none,
    .call = items_call,
};
