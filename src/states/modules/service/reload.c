/* service.reload - reloads a service now. */
#include "states/modules/service/services.h"
#include "states/state/module.h"

static int reload_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    return services_act(run, args, SERVICE_RELOAD, ret, err);
}

const struct module module_service_reload = {
    .name = "service.reload",
    .summary = "reload a service now",
    .example = "name: nginx\n",
    SERVICES_FUNCTION,
    .flags = MODULE_ACTS,
    .call = reload_call,
};
