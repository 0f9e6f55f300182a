/* Functions for facts under their Salt names; they return facts in Salt's form. */
#include "states/modules/facts/factset.h"
#include "states/modules/settings/datapath.h"
#include "states/state/module.h"

static int call_grain(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct datapath_args *want = args;

    (void)err;
    *ret = datapath_get(state_grains(run), want->key, want->otherwise);
    return 0;
}

static int call_grain_items(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    const struct datapath_items_args *want = args;

    (void)err;
    *ret = want->keys.n == 1 ? datapath_get(state_grains(run), want->keys.p[0], NULL)
                             : datapath_items(run->arena, state_grains(run), &want->keys);
    return 0;
}

static int call_grains(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)args;
    (void)err;
    *ret = *state_grains(run);
    return 0;
}

/* clang-format off */
const struct module aliases_facts[] = {
    { .name = "grains.get",    .summary = "a fact by its path", .params = datapath_params, .args_size = sizeof(struct datapath_args), .call = call_grain },
    { .name = "grains.item",   .summary = "a fact by its path, or several as a map", .params = datapath_items_params, .args_size = sizeof(struct datapath_items_args), .call = call_grain_items },
    { .name = "grains.items",  .summary = "all facts", .params = params_none, .call = call_grains },
    { .name = "grains.setval", .summary = "set a custom fact", .details = FACTSET_DETAILS, .params = factset_params, .args_size = sizeof(struct factset_args), .flags = MODULE_ACTS, .call = factset_call },
    { 0 },
};
/* clang-format on */
