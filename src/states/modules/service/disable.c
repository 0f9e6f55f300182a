/* service.disable - disables a service at boot. */
#include "states/modules/service/services.h"
#include "states/state/module.h"

static int disable_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    return services_act(run, args, SERVICE_DISABLE, ret, err);
}

const struct module module_service_disable = {
    .name = "service.disable",
    .summary = "disable a service at boot",
    .example = "name: nginx\n",
    SERVICES_FUNCTION,
    .flags = MODULE_ACTS,
    .call = disable_call,
};
