/* service.stop - stops a service now. */
#include "states/modules/service/services.h"
#include "states/state/module.h"

static int stop_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    return services_act(run, args, SERVICE_STOP, ret, err);
}

const struct module module_service_stop = {
    .name = "service.stop",
    .summary = "stop a service now",
    .example = "name: nginx\n",
    SERVICES_FUNCTION,
    .flags = MODULE_ACTS,
    .call = stop_call,
};
