/* kepler, by the control socket of its daemon. A service may be named with its config:
 * "/srv/app/kepler.yaml:web". */
#include "states/provider/service/manager.h"

#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "kepler/control/message.h"
#include "kepler/control/request.h"
#include "states/provider/orchestrator.h"

/* An init that runs scripts controls what starts at boot. */
static bool has_init(void)
{
    return access("/run/initctl", F_OK) == 0 || access("/dev/initctl", F_OK) == 0;
}

static bool is_kepler_running(struct arena *arena)
{
    return !has_init() && orchestrator_is_here(arena);
}

/* --- status ------------------------------------------------------------------------------ */

/* A config with autostart starts with the daemon; a single service has no such setting. */
static int ask_autostart(const struct tool *tool, const struct orchestrator_service *place,
                         bool *ret, struct err *err)
{
    const char *const names[] = { place->service };
    const struct request_ask args = { .config = place->config, .services = { 1, names } };
    const struct value *kepler, *autostart;
    struct message answer;

    *ret = false;
    if (orchestrator_ask(tool, REQUEST_INSPECT, &args, &answer, err) < 0)
        return err->code == ERR_INVALID ? 0 : -1; /* it was never loaded */
    kepler = value_get(&answer.body, "kepler");
    autostart = kepler ? value_get(kepler, "autostart") : NULL;
    *ret = autostart && value_is_true(autostart);
    return 0;
}

static bool is_kepler_word(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

static int read_kepler_status(const struct tool *tool, const char *name, struct service_status *ret,
                              struct err *err)
{
    static const char *const up[] = { "running", "healthy", "unhealthy", NULL };
    static const char *const over[] = { "exited", "killed", "failed", "skipped", NULL };
    static const char *const moving[] = { "waiting", "starting", "stopping", "restarting", NULL };
    const struct value *status;
    struct orchestrator_service place;

    if (orchestrator_find(tool, name, &place, err) < 0)
        return -1;
    *ret = (struct service_status){ .word = "unknown" };
    if (!place.status) {
        /* The first start loads a config that the daemon has not read yet. */
        if (place.config && access(place.config, F_OK) == 0)
            *ret = (struct service_status){ .known = true, .word = "not loaded" };
        return 0;
    }
    status = value_get(place.status, "status");
    ret->known = true;
    if (status && value_is(status, VALUE_STR))
        ret->word = status->s.p;
    ret->running = is_kepler_word(ret->word, up);
    ret->failed = is_kepler_word(ret->word, over);
    ret->moving = is_kepler_word(ret->word, moving);
    return ask_autostart(tool, &place, &ret->enabled, err);
}

/* --- actions ----------------------------------------------------------------------------- */

static int set_kepler_boot(const struct tool *tool, const struct orchestrator_service *place,
                           bool enable, struct err *err)
{
    bool enabled;

    if (ask_autostart(tool, place, &enabled, err) < 0)
        return -1;
    if (enabled == enable)
        return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "kepler enables whole configs, not single services: set 'autostart: %s' under "
                   "'kepler' in '%s' and start it again",
                   enable ? "true" : "false", place->config);
}

static int restart_service(const struct tool *tool, const struct orchestrator_service *place,
                           struct param_strs services, struct err *err)
{
    const struct request_start args = { .config = place->config,
                                        .services = services,
                                        .environment = orchestrator_environment(tool->arena) };
    struct message ignored;

    return orchestrator_ask(tool, REQUEST_RESTART, &args, &ignored, err);
}

static int send_action(const struct tool *tool, const struct orchestrator_service *place,
                       enum service_action action, struct err *err)
{
    const char *const names[] = { place->service };
    const struct param_strs services = { 1, names };
    const struct orchestrator_start start = { .config = place->config, .services = services };

    if (action == SERVICE_RESTART)
        return restart_service(tool, place, services, err);
    if (action == SERVICE_STOP)
        return orchestrator_stop(tool, place->config, services, false, err);
    return orchestrator_start(tool, &start, err);
}

static int run_kepler_action(const struct tool *tool, const char *name, enum service_action action,
                             unsigned flags, struct err *err)
{
    struct orchestrator_service place;

    (void)flags; /* only a stop waits here */
    if (orchestrator_find(tool, name, &place, err) < 0)
        return -1;
    if (!place.config)
        return err_set(err, ERR_NOT_FOUND, "kepler has no service '%s': set 'config'", name);
    switch (action) {
    case SERVICE_ENABLE:
    case SERVICE_FORGET:
    case SERVICE_DISABLE: return set_kepler_boot(tool, &place, action == SERVICE_ENABLE, err);
    case SERVICE_RELOAD:
    case SERVICE_MASK:
    case SERVICE_UNMASK:
        return err_set(err, ERR_UNSUPPORTED, "kepler cannot %s services",
                       service_action_word(action));
    case SERVICE_START:
    case SERVICE_STOP:
    case SERVICE_RESTART: break;
    }
    return send_action(tool, &place, action, err);
}

const struct service_manager service_manager_kepler = {
    .name = "kepler",
    .rank = 30,
    .has_configs = true,
    .needs = "a running kepler-daemon, where no init runs scripts",
    .is_here = is_kepler_running,
    .look = read_kepler_status,
    .act = run_kepler_action,
};
