/* grains.setval - write a fact of the administrator. */
#include "modules/factset.h"
#include "state/module.h"

const struct module module_grains_setval = {
    .name = "grains.setval",
    .summary = "write a fact of the administrator",
    .details = FACTSET_DETAILS,
    .params = factset_params,
    .args_size = sizeof(struct factset_args),
    .flags = MODULE_ACTS,
    .call = factset_call,
};
