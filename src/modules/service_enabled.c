/* service.enabled - the service starts with the machine. */
#include "modules/services.h"
#include "state/module.h"

#define ARGS struct services_wish

/* clang-format off */
static const struct param enabled_params[] = {
    SERVICES_REF(ARGS, ref.),
    { 0 },
};
/* clang-format on */

static const struct services_goal goal = { .enable = PARAM_IS_TRUE };

SERVICES_STATE(goal)

static int enabled_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct services_wish *wish = args;
    struct service_status status;

    if (services_look(run, &wish->ref, &status, err) < 0)
        return -1;
    *ret = value_bool(status.enabled);
    return 0;
}

const struct module module_service_enabled = {
    .name = "service.enabled",
    .summary = "the service starts with the machine",
    .details = "As a function it tells whether that is so.",
    .example = "name: nginx\n",
    .params = enabled_params,
    SERVICES_STATE_FIELDS,
    .call = enabled_call,
};
