/* service.dead - the service does not run. */
#include "modules/service/services.h"
#include "state/module.h"

#define ARGS struct services_wish

/* clang-format off */
static const struct param dead_params[] = {
    SERVICES_REF(ARGS, ref.),
    PARAM("enable", TRISTATE, ARGS, enable, "false: it does not start with the machine either"),
    PARAM("no_block", BOOL, ARGS, no_block, "do not wait until it is down"),
    PARAM("init_delay", DURATION, ARGS, init_delay, "wait so long before looking whether it is down"),
    PARAM("sig", STR, ARGS, sig, "a text of its command line: processes tell whether it runs, not the service manager", .flags = PARAM_FILLED),
    PARAM("timeout", DURATION, ARGS, timeout, "how long it may take to go down; without: as long as the manager allows, and 10s more"),
    { 0 },
};
/* clang-format on */

static const struct services_goal goal = { .running = PARAM_IS_FALSE };

SERVICES_STATE(goal)

const struct module module_service_dead = {
    .name = "service.dead",
    .summary = "the service does not run",
    .example = "name: telnetd\nenable: false\n",
    .params = dead_params,
    SERVICES_STATE_FIELDS,
};
