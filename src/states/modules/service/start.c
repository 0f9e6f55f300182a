/* service.start - starts a service now. */
#include "states/modules/service/services.h"
#include "states/state/module.h"

static int start_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    return services_act(run, args, SERVICE_START, ret, err);
}

const struct module module_service_start = {
    .name = "service.start",
    .summary = "start a service now",
    .example = "name: nginx\n",
    SERVICES_FUNCTION,
    .flags = MODULE_ACTS,
    .call = start_call,
};
