/* service.status - returns 'running' or 'stopped'. */
#include "states/modules/service/services.h"
#include "states/state/module.h"

static int status_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct service_status status;

    if (services_look(run, args, &status, err) < 0)
        return -1;
    *ret = value_text(status.running ? "running" : "stopped");
    return 0;
}

const struct module module_service_status = {
    .name = "service.status",
    .summary = "the status of a service: 'running' or 'stopped'",
    .example = "name: nginx\n",
    SERVICES_FUNCTION,
    .call = status_call,
};
