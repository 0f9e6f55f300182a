/* service.enable - enable a service at boot. */
#include "base/err.h"
#include "modules/services.h"
#include "state/module.h"

#define ARGS struct enable_args

struct enable_args {
    const char *name;
    int provider;
};

/* clang-format off */
static const struct param enable_params[] = {
    SERVICES_NAME(ARGS),
    { 0 },
};
/* clang-format on */

static int enable_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct enable_args *want = args;
    const struct services_wish wish = { .name = want->name, .provider = want->provider };

    if (services_act(run, &wish, SERVICE_ENABLE, err) < 0)
        return -1;
    *ret = value_text(arena_printf(run->arena, "enabled %s", want->name));
    return 0;
}

const struct module module_service_enable = {
    .name = "service.enable",
    .summary = "enable a service at boot",
    .example = "name: nginx\n",
    .params = enable_params,
    .args_size = sizeof(struct enable_args),
    .call = enable_call,
};
