/* service.status - whether a service runs: 'running' or 'stopped'. */
#include "base/err.h"
#include "modules/services.h"
#include "state/module.h"

#define ARGS struct status_args

struct status_args {
    const char *name;
    int provider;
};

/* clang-format off */
static const struct param status_params[] = {
    SERVICES_NAME(ARGS),
    { 0 },
};
/* clang-format on */

static int status_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct status_args *want = args;
    const struct services_wish wish = { .name = want->name, .provider = want->provider };
    struct service_status status;

    if (services_look(run, &wish, &status, err) < 0)
        return -1;
    *ret = value_text(status.running ? "running" : "stopped");
    return 0;
}

const struct module module_service_status = {
    .name = "service.status",
    .summary = "whether a service runs: 'running' or 'stopped'",
    .example = "name: nginx\n",
    .params = status_params,
    .args_size = sizeof(struct status_args),
    .call = status_call,
};
