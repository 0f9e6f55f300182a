/* service.dead - stops a service. */
#include "states/modules/service/services.h"
#include "states/state/module.h"

#define ARGS struct services_wish

/* clang-format off */
static const struct param dead_params[] = {
    SERVICES_REF(ARGS, ref.),
    PARAM("enable", TRISTATE, ARGS, enable, "false: also disable it at boot"),
    PARAM("no_block", BOOL, ARGS, no_block, "do not wait until it is stopped"),
    PARAM("init_delay", DURATION, ARGS, init_delay, "time to wait before checking that it is stopped"),
    PARAM("sig", STR, ARGS, sig, "text in its command line: check processes instead of asking the service manager", .flags = PARAM_FILLED),
    PARAM("timeout", DURATION, ARGS, timeout, "time limit for stopping (default: that of the manager, plus 10s)"),
    { 0 },
};
/* clang-format on */

static const struct services_goal goal = { .running = PARAM_IS_FALSE };

SERVICES_STATE(goal)

const struct module module_service_dead = {
    .name = "service.dead",
    .summary = "ensure that a service is stopped",
    .example = "name: telnetd\nenable: false\n",
    .params = dead_params,
    .flags = MODULE_DRY_REVERT,
    SERVICES_STATE_FIELDS,
};
