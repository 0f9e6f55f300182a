/* service.restart - restarts a service now. */
#include "states/modules/service/services.h"
#include "states/state/module.h"

static int restart_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    return services_act(run, args, SERVICE_RESTART, ret, err);
}

const struct module module_service_restart = {
    .name = "service.restart",
    .summary = "restart a service now",
    .example = "name: nginx\n",
    SERVICES_FUNCTION,
    .flags = MODULE_ACTS,
    .call = restart_call,
};
