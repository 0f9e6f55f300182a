/* service.enabled - enables a service at boot. */
#include "states/modules/service/services.h"
#include "states/state/module.h"

static const struct services_goal goal = { .enable = PARAM_IS_TRUE };

SERVICES_STATE(goal)
SERVICES_ANSWER(goal)

const struct module module_service_enabled = {
    .name = "service.enabled",
    .summary = "ensure that a service is enabled at boot",
    .details = SERVICES_ASKS,
    .flags = MODULE_ASKS | MODULE_DRY_REVERT,
    .example = "name: nginx\n",
    .params = services_plain_params,
    SERVICES_STATE_FIELDS,
    .call = state_call,
};
