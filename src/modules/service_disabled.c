/* service.disabled - the service does not start with the machine. */
#include "modules/services.h"
#include "state/module.h"

#define ARGS struct services_wish

/* clang-format off */
static const struct param disabled_params[] = {
    SERVICES_REF(ARGS, ref.),
    { 0 },
};
/* clang-format on */

static const struct services_goal goal = { .enable = PARAM_IS_FALSE };

SERVICES_STATE(goal)

static int disabled_call(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    const struct services_wish *wish = args;
    struct service_status status;

    if (services_look(run, &wish->ref, &status, err) < 0)
        return -1;
    *ret = value_bool(!status.enabled);
    return 0;
}

const struct module module_service_disabled = {
    .name = "service.disabled",
    .summary = "the service does not start with the machine",
    .details = "As a function it tells whether that is so.",
    .example = "name: telnetd\n",
    .params = disabled_params,
    SERVICES_STATE_FIELDS,
    .call = disabled_call,
};
