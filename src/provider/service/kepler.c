/* kepler, by the control socket of its daemon. A service may be named with its config:
 * "/srv/app/kepler.yaml:web". */
#include "provider/service/manager.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "control/exchange.h"
#include "control/home.h"
#include "sys/clock.h"
#include "sys/fd.h"

/* A stop waits for the grace periods of all stopping services. */
#define TIMEOUT_NS (600 * CLOCK_SECOND)

/* --- the daemon ------------------------------------------------------------------------------- */

/* An init that runs scripts controls what starts at boot. */
static bool has_init(void)
{
    return access("/run/initctl", F_OK) == 0 || access("/dev/initctl", F_OK) == 0;
}

static bool is_here(struct arena *arena)
{
    AUTO_FD int fd = -1;
    struct home home;
    struct err ignored;

    return !has_init() && home_find_client(arena, &home, &ignored) == 0 &&
           home_connect(&home, &fd, &ignored) == 0;
}

static int query_daemon(const struct tool *tool, enum request_kind kind, const void *args,
                        struct message *ret, struct err *err)
{
    struct home home;
    const struct exchange exchange = { tool->arena, &home, tool->cancel,
                                       tool->timeout > 0 ? tool->timeout : TIMEOUT_NS };

    if (home_find_client(tool->arena, &home, err) < 0)
        return -1;
    if (exchange_ask(&exchange, kind, args, ret, err) < 0)
        return err_wrap(err, "kepler");
    return 0;
}

static bool is_reply(const struct message *answer, const char *name)
{
    return strcmp(answer->name, name) == 0;
}

static int report_refusal(const struct message *answer, struct err *err)
{
    return err_set(err, ERR_INVALID, "kepler: %s",
                   message_text(answer, "message", "the daemon gave no reason"));
}

/* --- finding the service
 * ------------------------------------------------------------------------------
 */

struct whereabouts {
    const char *config; /* NULL: not found yet, or unknown */
    const char *service;
    const struct value *status; /* status from the daemon; NULL: unknown service */
};

/* The daemon identifies configs by canonical path. */
static const char *find_canonical(struct arena *arena, const char *path)
{
    AUTO_FREE char *real = realpath(path, NULL);

    return arena_strdup(arena, real ? real : path);
}

static struct whereabouts parse_name(struct arena *arena, const char *name)
{
    const char *colon = name[0] == '/' ? strrchr(name, ':') : NULL;

    if (!colon)
        return (struct whereabouts){ .service = name };
    return (struct whereabouts){
        .config = find_canonical(arena, arena_strndup(arena, name, (size_t)(colon - name))),
        .service = colon + 1,
    };
}

static int report_several(const struct whereabouts *place, const char *other, struct err *err)
{
    return err_set(err, ERR_INVALID,
                   "kepler has a service '%s' in '%s' and in '%s': choose one with 'config'",
                   place->service, place->config, other);
}

/* Search all configs that the daemon knows. */
static int find_in(const struct value *configs, struct whereabouts *place, struct err *err)
{
    if (!configs || !value_is(configs, VALUE_LIST))
        return 0;
    for (size_t i = 0; i < configs->list->count; i++) {
        const struct value *config = &configs->list->items[i], *path, *services, *found;

        path = value_get(config, "config_path");
        services = value_get(config, "services");
        found = services ? value_get(services, place->service) : NULL;
        if (!found || !path || !value_is_textual(path))
            continue;
        if (place->config)
            return report_several(place, path->s.p, err);
        place->config = path->s.p;
        place->status = found;
    }
    return 0;
}

static int find_service(const struct tool *tool, const char *name, struct whereabouts *ret,
                        struct err *err)
{
    struct request_ask args = { 0 };
    const struct value *services;
    struct message answer;

    *ret = parse_name(tool->arena, name);
    args.config = ret->config;
    if (query_daemon(tool, REQUEST_STATUS, &args, &answer, err) < 0)
        return -1;
    if (ret->config && is_reply(&answer, MESSAGE_UNKNOWN))
        return 0;
    if (!is_reply(&answer, MESSAGE_OK))
        return report_refusal(&answer, err);
    if (!ret->config)
        return find_in(value_get(&answer.body, "configs"), ret, err);
    services = value_get(&answer.body, "services");
    ret->status = services ? value_get(services, ret->service) : NULL;
    return 0;
}

/* --- status ----------------------------------------------------------------------------------
 */

/* A config with autostart starts with the daemon; a single service has no such setting. */
static int ask_autostart(const struct tool *tool, const struct whereabouts *place, bool *ret,
                         struct err *err)
{
    const char *const names[] = { place->service };
    const struct request_ask args = { .config = place->config, .services = { 1, names } };
    const struct value *kepler, *autostart;
    struct message answer;

    *ret = false;
    if (query_daemon(tool, REQUEST_INSPECT, &args, &answer, err) < 0)
        return -1;
    if (!is_reply(&answer, MESSAGE_OK))
        return 0; /* never loaded */
    kepler = value_get(&answer.body, "kepler");
    autostart = kepler ? value_get(kepler, "autostart") : NULL;
    *ret = autostart && value_is_true(autostart);
    return 0;
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

static int read_status(const struct tool *tool, const char *name, struct service_status *ret,
                       struct err *err)
{
    static const char *const up[] = { "running", "healthy", "unhealthy", NULL };
    static const char *const over[] = { "exited", "killed", "failed", "skipped", NULL };
    static const char *const moving[] = { "waiting", "starting", "stopping", "restarting", NULL };
    const struct value *status;
    struct whereabouts place;

    if (find_service(tool, name, &place, err) < 0)
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
    ret->running = is_one_of(ret->word, up);
    ret->failed = is_one_of(ret->word, over);
    ret->moving = is_one_of(ret->word, moving);
    return ask_autostart(tool, &place, &ret->enabled, err);
}

/* --- actions ---------------------------------------------------------------------------------
 */

static struct param_strs add_environment(struct arena *arena)
{
    VEC(const char *) list = VEC_INIT;

    for (char **one = environ; *one; one++)
        if (strchr(*one, '='))
            VEC_PUSH_IN(arena, &list, *one);
    return (struct param_strs){ list.n, list.p };
}

static int set_boot(const struct tool *tool, const struct whereabouts *place, bool enable,
                    struct err *err)
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

static int send_action(const struct tool *tool, const struct whereabouts *place,
                       enum service_action action, struct err *err)
{
    const char *const names[] = { place->service };
    const struct param_strs services = { 1, names };
    const struct request_start start = { .config = place->config,
                                         .services = services,
                                         .environment = add_environment(tool->arena) };
    const struct request_stop stop = { .config = place->config, .services = services };
    const struct value *errors;
    struct message answer;
    const enum request_kind kind = action == SERVICE_STOP      ? REQUEST_STOP
                                   : action == SERVICE_RESTART ? REQUEST_RESTART
                                                               : REQUEST_START;

    if (query_daemon(tool, kind, kind == REQUEST_STOP ? (const void *)&stop : &start, &answer,
                     err) < 0)
        return -1;
    if (!is_reply(&answer, MESSAGE_OK))
        return report_refusal(&answer, err);
    errors = value_get(&answer.body, "errors");
    if (errors && value_is(errors, VALUE_LIST) && errors->list->count > 0 &&
        value_is(&errors->list->items[0], VALUE_STR))
        return err_set(err, ERR_INVALID, "kepler: %s", errors->list->items[0].s.p);
    return 0;
}

static int run_action(const struct tool *tool, const char *name, enum service_action action,
                      unsigned flags, struct err *err)
{
    struct whereabouts place;

    (void)flags; /* only a stop waits here */
    if (find_service(tool, name, &place, err) < 0)
        return -1;
    if (!place.config)
        return err_set(err, ERR_NOT_FOUND, "kepler has no service '%s': set 'config'", name);
    switch (action) {
    case SERVICE_ENABLE:
    case SERVICE_FORGET:
    case SERVICE_DISABLE: return set_boot(tool, &place, action == SERVICE_ENABLE, err);
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
    .is_here = is_here,
    .look = read_status,
    .act = run_action,
};
