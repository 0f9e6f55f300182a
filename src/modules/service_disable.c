/* service.disable - disable a service at boot. */
#include "base/err.h"
#include "modules/services.h"
#include "state/module.h"

#define ARGS struct disable_args

struct disable_args {
    const char *name;
    int provider;
};

/* clang-format off */
static const struct param disable_params[] = {
    SERVICES_NAME(ARGS),
    { 0 },
};
/* clang-format on */

static int disable_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct disable_args *want = args;
    const struct services_wish wish = { .name = want->name, .provider = want->provider };

    if (services_act(run, &wish, SERVICE_DISABLE, err) < 0)
        return -1;
    *ret = value_text(arena_printf(run->arena, "disabled %s", want->name));
    return 0;
}

const struct module module_service_disable = {
    .name = "service.disable",
    .summary = "disable a service at boot",
    .example = "name: nginx\n",
    .params = disable_params,
    .args_size = sizeof(struct disable_args),
    .call = disable_call,
};
