/* service.enable - enables a service at boot. */
#include "states/modules/service/services.h"
#include "states/state/module.h"

static int enable_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    return services_act(run, args, SERVICE_ENABLE, ret, err);
}

const struct module module_service_enable = {
    .name = "service.enable",
    .summary = "enable a service at boot",
    .example = "name: nginx\n",
    SERVICES_FUNCTION,
    .flags = MODULE_ACTS,
    .call = enable_call,
};
