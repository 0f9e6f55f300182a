/* service.stop - stop a service now. */
#include "base/err.h"
#include "modules/services.h"
#include "state/module.h"

#define ARGS struct stop_args

struct stop_args {
    const char *name;
    int provider;
};

/* clang-format off */
static const struct param stop_params[] = {
    SERVICES_NAME(ARGS),
    { 0 },
};
/* clang-format on */

static int stop_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct stop_args *want = args;
    const struct services_wish wish = { .name = want->name, .provider = want->provider };

    if (services_act(run, &wish, SERVICE_STOP, err) < 0)
        return -1;
    *ret = value_text(arena_printf(run->arena, "stopped %s", want->name));
    return 0;
}

const struct module module_service_stop = {
    .name = "service.stop",
    .summary = "stop a service now",
    .example = "name: nginx\n",
    .params = stop_params,
    .args_size = sizeof(struct stop_args),
    .call = stop_call,
};
