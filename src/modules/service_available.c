/* service.available - whether the machine knows a service. */
#include "base/err.h"
#include "modules/services.h"
#include "state/module.h"

#define ARGS struct available_args

struct available_args {
    const char *name;
    int provider;
};

/* clang-format off */
static const struct param available_params[] = {
    SERVICES_NAME(ARGS),
    { 0 },
};
/* clang-format on */

static int available_call(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    const struct available_args *want = args;
    const struct services_wish wish = { .name = want->name, .provider = want->provider };
    struct service_status status;

    if (services_look(run, &wish, &status, err) < 0)
        return -1;
    *ret = value_bool(status.known);
    return 0;
}

const struct module module_service_available = {
    .name = "service.available",
    .summary = "whether the machine knows a service",
    .example = "name: nginx\n",
    .params = available_params,
    .args_size = sizeof(struct available_args),
    .call = available_call,
};
