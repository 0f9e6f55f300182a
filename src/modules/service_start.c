/* service.start - start a service now. */
#include "base/err.h"
#include "modules/services.h"
#include "state/module.h"

#define ARGS struct start_args

struct start_args {
    const char *name;
    int provider;
};

/* clang-format off */
static const struct param start_params[] = {
    SERVICES_NAME(ARGS),
    { 0 },
};
/* clang-format on */

static int start_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct start_args *want = args;
    const struct services_wish wish = { .name = want->name, .provider = want->provider };

    if (services_act(run, &wish, SERVICE_START, err) < 0)
        return -1;
    *ret = value_text(arena_printf(run->arena, "started %s", want->name));
    return 0;
}

const struct module module_service_start = {
    .name = "service.start",
    .summary = "start a service now",
    .example = "name: nginx\n",
    .params = start_params,
    .args_size = sizeof(struct start_args),
    .call = start_call,
};
