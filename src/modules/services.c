#include "modules/services.h"

#include "base/buf.h"
#include "base/err.h"
#include "modules/machine.h"
#include "state/host.h"
#include "state/module.h"
#include "state/pause.h"
#include "sys/clock.h"

/* Between two looks at a service that is coming up. */
#define LOOK_AGAIN (100 * CLOCK_MS)

/* --- the machine ------------------------------------------------------------------------ */

int services_validate(const struct services_wish *wish, const struct value *where,
                      struct diags *diags)
{
    int result = machine_validate("name", wish->name, MACHINE_ARGUMENT, where, diags);

    if (result == 0 && str_find_char(str_from(wish->name), '/', 0) != STR_NONE)
        result = value_diag(diags, where, "'name' may not hold a slash");
    return result;
}

int services_manager(const struct services_wish *wish, const struct service_manager **ret,
                     struct err *err)
{
    static const char *const names[] = { NULL, "systemd", "openrc", "sysv" };

    return service_find_manager(names[wish->provider], ret, err);
}

static int no_service(const struct services_wish *wish, const struct service_manager *manager,
                      struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "%s knows no service '%s'", manager->name, wish->name);
}

int services_look(struct state_run *run, const struct services_wish *wish,
                  struct service_status *ret, struct err *err)
{
    const struct tool tool = machine_tool(run);
    const struct service_manager *manager;

    if (services_manager(wish, &manager, err) < 0)
        return -1;
    return manager->look(&tool, wish->name, ret, err);
}

int services_act(struct state_run *run, const struct services_wish *wish,
                 enum service_action action, struct err *err)
{
    const struct tool tool = machine_tool(run);
    const struct service_manager *manager;
    struct service_status status;

    if (services_manager(wish, &manager, err) < 0 ||
        manager->look(&tool, wish->name, &status, err) < 0)
        return -1;
    if (!status.known)
        return no_service(wish, manager, err);
    return manager->act(&tool, wish->name, action, 0, err);
}

/* --- check ------------------------------------------------------------------------------- */

/* What should be and is not. */
static bool differs(enum param_tristate want, bool now)
{
    return want != PARAM_IS_UNSET && (want == PARAM_IS_TRUE) != now;
}

/* A service that nobody knows is stopped and off. */
static bool is_fine_unknown(const struct services_wish *wish)
{
    return wish->running != PARAM_IS_TRUE && wish->enable != PARAM_IS_TRUE &&
           wish->masked != PARAM_IS_TRUE;
}

int services_check(struct state_run *run, const struct services_wish *wish, struct err *err)
{
    struct service_status now;

    if (services_look(run, wish, &now, err) < 0)
        return -1;
    if (!now.known && !now.masked && !is_fine_unknown(wish)) {
        state_differs(run, "there is no service %s yet", wish->name);
        return 0;
    }
    if (differs(wish->running, now.running))
        state_differs(run,
                      wish->running == PARAM_IS_TRUE ? "%s is not running"
                                                     : "%s is running and should be dead",
                      wish->name);
    if (differs(wish->masked, now.masked) || (wish->unmask && now.masked))
        state_differs(run, now.masked ? "%s is masked" : "%s is not masked", wish->name);
    if (differs(wish->enable, now.enabled))
        state_differs(run,
                      wish->enable == PARAM_IS_TRUE ? "%s is not enabled at boot"
                                                    : "%s is enabled at boot and should not be",
                      wish->name);
    if (!run->differs)
        state_say(run, "%s is as it should be", wish->name);
    return 0;
}

/* --- apply ------------------------------------------------------------------------------- */

struct work {
    struct state_run *run;
    const struct services_wish *wish;
    const struct service_manager *manager;
    struct tool tool;
    struct service_status before;
    struct buf done; /* "enabled, restarted" */
};

static const char *const done_words[SERVICE_ACTIONS] = {
    [SERVICE_START] = "started",   [SERVICE_STOP] = "stopped",    [SERVICE_RESTART] = "restarted",
    [SERVICE_RELOAD] = "reloaded", [SERVICE_ENABLE] = "enabled",  [SERVICE_DISABLE] = "disabled",
    [SERVICE_MASK] = "masked",     [SERVICE_UNMASK] = "unmasked", [SERVICE_FORGET] = "disabled",
};

static int act(struct work *work, enum service_action action, struct err *err)
{
    const unsigned flags =
        (work->wish->no_block ? SERVICE_NO_BLOCK : 0) | (work->wish->runtime ? SERVICE_RUNTIME : 0);

    if (work->manager->act(&work->tool, work->wish->name, action, flags, err) < 0)
        return -1;
    buf_printf(&work->done, "%s%s", work->done.n > 0 ? ", " : "", done_words[action]);
    return 0;
}

static int set_boot(struct work *work, struct err *err)
{
    const struct services_wish *wish = work->wish;

    if (work->before.masked && (wish->unmask || wish->masked == PARAM_IS_FALSE) &&
        act(work, SERVICE_UNMASK, err) < 0)
        return -1;
    if (differs(wish->enable, work->before.enabled) &&
        act(work,
            wish->enable == PARAM_IS_TRUE ? SERVICE_ENABLE
            : wish->forget                ? SERVICE_FORGET
                                          : SERVICE_DISABLE,
            err) < 0)
        return -1;
    if (wish->masked == PARAM_IS_TRUE && !work->before.masked)
        return act(work, SERVICE_MASK, err);
    return 0;
}

static int pause_or_cancel(struct work *work, int64_t ns, struct err *err)
{
    if (pause_for(work->run->host->cancel, ns))
        return 0;
    return err_set(err, ERR_CANCELED, "canceled while waiting for %s", work->wish->name);
}

/* Wait until it is really up, or down; and, with init_delay, still is after a while. */
static int settle(struct work *work, bool running, struct err *err)
{
    const struct services_wish *wish = work->wish;
    const int64_t deadline = clock_after(clock_real(), wish->timeout);
    struct service_status now;

    if (wish->no_block)
        return 0;
    if (wish->init_delay > 0 && pause_or_cancel(work, wish->init_delay, err) < 0)
        return -1;
    for (;;) {
        if (work->manager->look(&work->tool, wish->name, &now, err) < 0)
            return -1;
        if (now.running == running)
            return 0;
        if ((running && now.failed) || clock_real() >= deadline)
            break;
        if (pause_or_cancel(work, LOOK_AGAIN, err) < 0)
            return -1;
    }
    return err_set(err, ERR_INVALID, "%s was %s, but %s says '%s'", wish->name,
                   running ? "started" : "stopped", work->manager->name, now.word);
}

static int set_running(struct work *work, struct err *err)
{
    const struct services_wish *wish = work->wish;
    const bool running = wish->running == PARAM_IS_TRUE;
    enum service_action action = running ? SERVICE_START : SERVICE_STOP;

    if (wish->running == PARAM_IS_UNSET)
        return 0;
    if (work->before.running == running) {
        /* A watched change counts whatever else had drifted. */
        if (!running || !work->run->forced || !wish->restarts)
            return 0;
        action = wish->reload ? SERVICE_RELOAD : SERVICE_RESTART;
    }
    if (act(work, action, err) < 0)
        return -1;
    return settle(work, running, err);
}

/* On disk before anything changes. */
static int note(struct work *work, struct err *err)
{
    struct value_map *was = value_map_new(work->run->arena, 4);

    value_map_set(work->run->arena, was, value_text("running"), value_bool(work->before.running));
    value_map_set(work->run->arena, was, value_text("enabled"), value_bool(work->before.enabled));
    value_map_set(work->run->arena, was, value_text("masked"), value_bool(work->before.masked));
    value_map_set(work->run->arena, was, value_text("unlisted"), value_bool(work->before.unlisted));
    return state_note(work->run, "was", value_map(was), err);
}

static int begin(struct work *work, struct state_run *run, const struct services_wish *wish,
                 struct err *err)
{
    *work = (struct work){
        .run = run, .wish = wish, .tool = machine_tool(run), .done = BUF_INIT(BUF_NO_LIMIT)
    };
    if (services_manager(wish, &work->manager, err) < 0)
        return -1;
    return work->manager->look(&work->tool, wish->name, &work->before, err);
}

static int apply(struct work *work, struct err *err)
{
    const struct services_wish *wish = work->wish;

    if (!work->before.known && !work->before.masked) {
        if (is_fine_unknown(wish))
            return 0;
        /* A unit file may be new: systemd is told so by the first action. */
        if (work->manager != &service_systemd)
            return no_service(wish, work->manager, err);
    }
    if (note(work, err) < 0)
        return -1;
    if (wish->running == PARAM_IS_FALSE && set_running(work, err) < 0)
        return -1;
    if (set_boot(work, err) < 0)
        return -1;
    return wish->running == PARAM_IS_TRUE ? set_running(work, err) : 0;
}

static void report(struct work *work)
{
    if (work->done.n == 0) {
        state_say(work->run, "%s is as it should be", work->wish->name);
        state_unchanged(work->run);
        return;
    }
    buf_clear(&work->run->text);
    state_say(work->run, "%s %s", buf_text(&work->done), work->wish->name);
    state_detail(work->run, "service", "%s", work->wish->name);
    state_detail(work->run, "action", "%s", buf_text(&work->done));
    state_detail(work->run, "manager", "%s", work->manager->name);
}

int services_apply(struct state_run *run, const struct services_wish *wish, struct err *err)
{
    struct work work;
    int result = begin(&work, run, wish, err);

    if (result == 0)
        result = apply(&work, err);
    if (result == 0)
        report(&work);
    buf_done(&work.done);
    return result;
}

/* --- revert ------------------------------------------------------------------------------ */

/* The facets this state cares for, as they were. */
static struct services_wish earlier(const struct services_wish *wish, const struct value *was)
{
    const struct value *unlisted = value_get(was, "unlisted");
    struct services_wish back = *wish;
    const struct {
        const char *key;
        enum param_tristate *facet;
        bool counts;
    } facets[] = {
        { "running", &back.running, wish->running != PARAM_IS_UNSET },
        { "enabled", &back.enable, wish->enable != PARAM_IS_UNSET },
        { "masked", &back.masked, wish->masked != PARAM_IS_UNSET || wish->unmask },
    };

    for (size_t i = 0; i < ARRAY_LEN(facets); i++) {
        const struct value *flag = value_get(was, facets[i].key);

        *facets[i].facet = !facets[i].counts || !flag || flag->kind != VALUE_BOOL ? PARAM_IS_UNSET
                           : flag->b                                              ? PARAM_IS_TRUE
                                                                                  : PARAM_IS_FALSE;
    }
    back.unmask = back.restarts = false;
    back.forget = unlisted && unlisted->kind == VALUE_BOOL && unlisted->b;
    return back;
}

int services_revert(struct state_run *run, const struct services_wish *wish, struct err *err)
{
    const struct value *was = state_noted(run, "was");
    struct services_wish back;
    struct work work;
    int result;

    if (!was) {
        state_unchanged(run);
        return 0;
    }
    back = earlier(wish, was);
    result = begin(&work, run, &back, err);
    if (result == 0 && work.before.known &&
        ((back.running == PARAM_IS_FALSE && set_running(&work, err) < 0) ||
         set_boot(&work, err) < 0 ||
         (back.running == PARAM_IS_TRUE && set_running(&work, err) < 0)))
        result = -1;
    if (result == 0 && work.done.n > 0)
        state_say(run, "%s %s (revert)", buf_text(&work.done), wish->name);
    else if (result == 0)
        state_unchanged(run);
    buf_done(&work.done);
    return result;
}
