/* service.unmasked - unmasks a service. */
#include "states/modules/service/services.h"
#include "states/state/module.h"

static const struct services_goal goal = { .masked = PARAM_IS_FALSE };

SERVICES_STATE(goal)
SERVICES_ANSWER(goal)

const struct module module_service_unmasked = {
    .name = "service.unmasked",
    .summary = "unmask a service",
    .details = "As a function, returns whether that is the case.",
    .example = "name: telnetd\n",
    .params = services_mask_params,
    .flags = MODULE_DRY_REVERT,
    SERVICES_STATE_FIELDS,
    .call = state_call,
};
