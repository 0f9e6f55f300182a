/* facts.get - a fact by its path. */
#include "states/modules/settings/datapath.h"
#include "states/state/module.h"

static int get_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct datapath_args *want = args;

    (void)err;
    *ret = datapath_get(state_facts(run), want->key, want->otherwise);
    return 0;
}

const struct module module_facts_get = {
    .name = "facts.get",
    .summary = "a fact by its path",
    .params = datapath_params,
    .args_size = sizeof(struct datapath_args),
    .call = get_call,
};
