/* service.masked - the service cannot be started at all. */
#include "modules/services.h"
#include "state/module.h"

#define ARGS struct services_wish

/* clang-format off */
static const struct param masked_params[] = {
    SERVICES_REF(ARGS, ref.),
    PARAM("runtime", BOOL, ARGS, runtime, "until the machine starts again only"),
    { 0 },
};
/* clang-format on */

static const struct services_goal goal = { .masked = PARAM_IS_TRUE };

SERVICES_STATE(goal)

static int masked_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct services_wish *wish = args;
    struct service_status status;

    if (services_look(run, &wish->ref, &status, err) < 0)
        return -1;
    *ret = value_bool(status.masked);
    return 0;
}

const struct module module_service_masked = {
    .name = "service.masked",
    .summary = "the service cannot be started at all",
    .details = "As a function it tells whether that is so.",
    .example = "name: telnetd\n",
    .params = masked_params,
    SERVICES_STATE_FIELDS,
    .call = masked_call,
};
