/* service.masked - masks a service, so that it cannot be started. */
#include "states/modules/service/services.h"
#include "states/state/module.h"

static const struct services_goal goal = { .masked = PARAM_IS_TRUE };

SERVICES_STATE(goal)
SERVICES_ANSWER(goal)

const struct module module_service_masked = {
    .name = "service.masked",
    .summary = "mask a service, so that it cannot be started",
    .details = SERVICES_ASKS,
    .flags = MODULE_ASKS | MODULE_DRY_REVERT,
    .example = "name: telnetd\n",
    .params = services_mask_params,
    SERVICES_STATE_FIELDS,
    .call = state_call,
};
