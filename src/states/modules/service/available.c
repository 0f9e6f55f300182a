/* service.available - whether a service exists. */
#include "states/modules/service/services.h"
#include "states/state/module.h"

static int available_call(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    struct service_status status;

    if (services_look(run, args, &status, err) < 0)
        return -1;
    *ret = value_bool(status.known);
    return 0;
}

const struct module module_service_available = {
    .name = "service.available",
    .summary = "whether a service exists",
    .example = "name: nginx\n",
    SERVICES_FUNCTION,
    .call = available_call,
};
