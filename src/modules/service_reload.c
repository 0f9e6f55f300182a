/* service.reload - reload a service now. */
#include "base/err.h"
#include "modules/services.h"
#include "state/module.h"

#define ARGS struct reload_args

struct reload_args {
    const char *name;
    int provider;
};

/* clang-format off */
static const struct param reload_params[] = {
    SERVICES_NAME(ARGS),
    { 0 },
};
/* clang-format on */

static int reload_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct reload_args *want = args;
    const struct services_wish wish = { .name = want->name, .provider = want->provider };

    if (services_act(run, &wish, SERVICE_RELOAD, err) < 0)
        return -1;
    *ret = value_text(arena_printf(run->arena, "reloaded %s", want->name));
    return 0;
}

const struct module module_service_reload = {
    .name = "service.reload",
    .summary = "reload a service now",
    .example = "name: nginx\n",
    .params = reload_params,
    .args_size = sizeof(struct reload_args),
    .call = reload_call,
};
