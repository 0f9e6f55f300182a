/* service.restart - restart a service now. */
#include "base/err.h"
#include "modules/services.h"
#include "state/module.h"

#define ARGS struct restart_args

struct restart_args {
    const char *name;
    int provider;
};

/* clang-format off */
static const struct param restart_params[] = {
    SERVICES_NAME(ARGS),
    { 0 },
};
/* clang-format on */

static int restart_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct restart_args *want = args;
    const struct services_wish wish = { .name = want->name, .provider = want->provider };

    if (services_act(run, &wish, SERVICE_RESTART, err) < 0)
        return -1;
    *ret = value_text(arena_printf(run->arena, "restarted %s", want->name));
    return 0;
}

const struct module module_service_restart = {
    .name = "service.restart",
    .summary = "restart a service now",
    .example = "name: nginx\n",
    .params = restart_params,
    .args_size = sizeof(struct restart_args),
    .call = restart_call,
};
