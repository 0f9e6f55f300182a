/* service.running - the service runs. */
#include "modules/service/services.h"
#include "state/module.h"

#define ARGS struct services_wish

/* clang-format off */
static const struct param running_params[] = {
    SERVICES_REF(ARGS, ref.),
    PARAM("enable", TRISTATE, ARGS, enable, "it starts with the machine, or does not; without: not looked at"),
    PARAM("reload", BOOL, ARGS, reload, "a watched change reloads it instead of restarting it"),
    PARAM("full_restart", BOOL, ARGS, full_restart, "a watched change stops and starts it, even with reload"),
    PARAM("no_block", BOOL, ARGS, no_block, "do not wait until it is up"),
    PARAM("init_delay", DURATION, ARGS, init_delay, "wait so long before looking whether it is up"),
    PARAM("sig", STR, ARGS, sig, "a text of its command line: processes tell whether it runs, not the service manager", .flags = PARAM_FILLED),
    PARAM("timeout", DURATION, ARGS, timeout, "how long it may take to come up; without: as long as the manager allows, and 10s more"),
    PARAM("unmask", BOOL, ARGS, unmask, "unmask it first"),
    PARAM("unmask_runtime", BOOL, ARGS, runtime, "unmask and enable until the machine starts again only"),
    { 0 },
};
/* clang-format on */

static const struct services_goal goal = { .running = PARAM_IS_TRUE, .restarts = true };

SERVICES_STATE(goal)

const struct module module_service_running = {
    .name = "service.running",
    .summary = "the service runs",
    .details =
        "A watched change restarts the service, or reloads it, also when something else of it "
        "had drifted. The state waits until the service is really up. systemd is asked over its "
        "bus, or through systemctl where libsystemd, the bus or the right to use it is missing; "
        "OpenRC through its programs; kepler over its socket, where 'enable' is 'autostart' of the "
        "whole config.",
    .example = "name: nginx\nenable: true\n",
    .params = running_params,
    SERVICES_STATE_FIELDS,
};
