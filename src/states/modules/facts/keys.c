/* facts.keys - the names of all top-level facts. */
#include "states/modules/settings/datapath.h"
#include "states/state/module.h"

static int keys_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)args;
    (void)err;
    *ret = datapath_keys(run->arena, state_facts(run));
    return 0;
}

const struct module module_facts_keys = {
    .name = "facts.keys",
    .summary = "the names of all top-level facts",
    .params = params_none,
    .call = keys_call,
};
