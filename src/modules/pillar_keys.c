/* pillar.keys - the names of all settings at the top. */
#include "modules/datapath.h"
#include "state/module.h"

/* clang-format off */
static const struct param keys_params[] = {
    { 0 },
};
/* clang-format on */

static int keys_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)args;
    (void)err;
    *ret = datapath_keys(run->arena, state_settings(run));
    return 0;
}

const struct module module_pillar_keys = {
    .name = "pillar.keys",
    .summary = "the names of all settings at the top",
    .params = keys_params,
    .call = keys_call,
};
