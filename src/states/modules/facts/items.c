/* facts.items - all facts. */
#include "states/state/module.h"

static int items_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)args;
    (void)err;
    *ret = *state_facts(run);
    return 0;
}

const struct module module_facts_items = {
    .name = "facts.items",
    .summary = "all facts",
    .params = params_none,
    .call = items_call,
};
