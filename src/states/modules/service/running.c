/* service.running - starts a service and keeps it enabled. */
#include "states/modules/service/services.h"
#include "states/state/module.h"

#define ARGS struct services_wish

/* clang-format off */
static const struct param running_params[] = {
    SERVICES_REF(ARGS, ref.),
    PARAM("enable", TRISTATE, ARGS, enable, "enable or disable it at boot (default: leave as is)"),
    PARAM("reload", BOOL, ARGS, reload, "a watched change reloads it instead of restarting it"),
    PARAM("full_restart", BOOL, ARGS, full_restart, "a watched change restarts it, even with reload"),
    PARAM("no_block", BOOL, ARGS, no_block, "do not wait until it is running"),
    PARAM("init_delay", DURATION, ARGS, init_delay, "time to wait before checking that it is running"),
    PARAM("sig", STR, ARGS, sig, "text in its command line: check processes instead of asking the service manager", .flags = PARAM_FILLED),
    PARAM("timeout", DURATION, ARGS, timeout, "time limit for starting (default: that of the manager, plus 10s)"),
    PARAM("unmask", BOOL, ARGS, unmask, "unmask it first"),
    PARAM("unmask_runtime", BOOL, ARGS, runtime, "unmask and enable only until the next boot"),
    { 0 },
};
/* clang-format on */

static const struct services_goal goal = { .running = PARAM_IS_TRUE, .restarts = true };

SERVICES_STATE(goal)

const struct module module_service_running = {
    .name = "service.running",
    .summary = "ensure that a service is running",
    .details = "A watched change restarts or reloads the service, even if something else about it "
               "has drifted. The state waits until the service is really up. systemd is controlled "
               "over D-Bus, or with systemctl if libsystemd, the bus or the permission is missing; "
               "OpenRC with its programs; kepler over its socket, where 'enable' means 'autostart' "
               "of the whole config. Where none of them runs, a script called systemctl in PATH "
               "counts before init scripts.",
    .example = "name: nginx\nenable: true\n",
    .params = running_params,
    .flags = MODULE_DRY_REVERT,
    SERVICES_STATE_FIELDS,
};
