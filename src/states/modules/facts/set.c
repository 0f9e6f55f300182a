/* facts.set - set a custom fact. */
#include "states/modules/facts/factset.h"
#include "states/state/module.h"

const struct module module_facts_set = {
    .name = "facts.set",
    .summary = "set a custom fact",
    .details = FACTSET_DETAILS,
    .params = factset_params,
    .args_size = sizeof(struct factset_args),
    .flags = MODULE_ACTS,
    .call = factset_call,
};
