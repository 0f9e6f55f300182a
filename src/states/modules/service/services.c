#include "states/modules/service/services.h"

#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/modules/cmd/run_tool.h"
#include "states/provider/command_line.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "states/state/pause.h"
#include "states/state/validate.h"
#include "core/sys/clock.h"

/* Between two checks of a service that is starting. */
#define LOOK_AGAIN (100 * CLOCK_MS)
/* It counts as up after this many checks in a row: a service with a broken configuration exits
 * early. */
#define LOOKS_UP 2
/* How long to wait, unless the state sets it. */
#define SETTLE_TIMEOUT (10 * CLOCK_SECOND)

/* clang-format off */
const struct param services_ref_params[] = {
    SERVICES_REF(struct services_ref, ),
    { 0 },
};
/* clang-format on */

#define ARGS struct services_wish

const struct param services_plain_params[] = {
    SERVICES_REF(ARGS, ref.),
    { 0 },
};

const struct param services_mask_params[] = {
    SERVICES_REF(ARGS, ref.),
    PARAM("runtime", BOOL, ARGS, runtime, "mask it only until the next boot"),
    { 0 },
};

/* --- service managers ------------------------------------------------------------------- */

/* "web/api" is a service and its config, where services are in configs. */
static bool may_have_slash(const struct services_ref *ref)
{
    const struct service_manager *chosen = service_manager_chosen(ref->provider);

    return chosen && chosen->has_configs && !ref->config;
}

int services_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct services_ref *ref = args;
    const struct service_manager *chosen = service_manager_chosen(ref->provider);
    int result = validate_text("name", ref->name, VALIDATE_ARGUMENT, where, diags);

    if (result == 0 && !may_have_slash(ref) &&
        str_find_char(str_from(ref->name), '/', 0) != STR_NONE)
        result = value_diag(diags, value_point(where, "name"), "'name' must not contain a slash");
    if (validate_text("config", ref->config, VALIDATE_LINE, where, diags) < 0)
        result = -1;
    if (ref->config && chosen && !chosen->has_configs)
        result =
            value_diag(diags, value_point(where, "config"), "'config' is only for services of %s",
                       service_manager_with_configs()->name);
    return result;
}

static int find_manager(const struct services_ref *ref, const struct service_manager **ret,
                        struct err *err)
{
    const struct service_manager *chosen = service_manager_chosen(ref->provider);

    if (!chosen && ref->config)
        chosen = service_manager_with_configs();
    if (!chosen)
        return service_manager_find(ret, err);
    *ret = chosen;
    return 0;
}

/* The name as the manager knows it. */
static const char *find_service_name(struct arena *arena, const struct services_ref *ref)
{
    return ref->config ? arena_printf(arena, "%s:%s", ref->config, ref->name) : ref->name;
}

static int fail_without_service(const struct services_ref *ref,
                                const struct service_manager *manager, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "%s has no service '%s'", manager->name, ref->name);
}

int services_look(struct state_run *run, const struct services_ref *ref, struct service_status *ret,
                  struct err *err)
{
    const struct tool tool = run_tool(run);
    const struct service_manager *manager;

    if (find_manager(ref, &manager, err) < 0)
        return -1;
    return manager->look(&tool, find_service_name(run->arena, ref), ret, err);
}

static const char *const done_words[SERVICE_ACTIONS] = {
    [SERVICE_START] = "started",   [SERVICE_STOP] = "stopped",    [SERVICE_RESTART] = "restarted",
    [SERVICE_RELOAD] = "reloaded", [SERVICE_ENABLE] = "enabled",  [SERVICE_DISABLE] = "disabled",
    [SERVICE_MASK] = "masked",     [SERVICE_UNMASK] = "unmasked", [SERVICE_FORGET] = "disabled",
};

int services_act(struct state_run *run, const struct services_ref *ref, enum service_action action,
                 struct value *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    const char *name = find_service_name(run->arena, ref);
    const struct service_manager *manager;
    struct service_status status;

    if (find_manager(ref, &manager, err) < 0 || manager->look(&tool, name, &status, err) < 0)
        return -1;
    if (!status.known)
        return fail_without_service(ref, manager, err);
    if (manager->act(&tool, name, action, 0, err) < 0)
        return -1;
    *ret = value_text(arena_printf(run->arena, "%s %s", done_words[action], ref->name));
    return 0;
}

/* --- one state --------------------------------------------------------------------------- */

/* A wish and its goal, for this machine. */
struct work {
    struct state_run *run;
    const struct services_wish *wish;
    const char *shown, *name; /* for people, and for the manager */
    struct services_goal goal;
    const struct service_manager *manager;
    struct tool tool;
    struct service_status before;
    struct buf done; /* "enabled, restarted" */
};

/* With a text to search for, processes show whether it runs. */
static int read_service_status(struct work *work, struct service_status *ret, struct err *err)
{
    bool found;

    if (work->manager->look(&work->tool, work->name, ret, err) < 0)
        return -1;
    if (!work->wish->sig)
        return 0;
    if (command_line_find(work->wish->sig, &found, err) < 0)
        return -1;
    ret->running = found;
    ret->failed = ret->moving = false;
    ret->word = found ? "running" : "no such process";
    return 0;
}

static int begin_state(struct work *work, struct state_run *run, const struct services_wish *wish,
                       const struct services_goal *goal, struct err *err)
{
    *work = (struct work){
        .run = run,
        .wish = wish,
        .shown = wish->ref.name,
        .name = find_service_name(run->arena, &wish->ref),
        .goal = *goal,
        .tool = run_tool(run),
        .done = BUF_INIT(BUF_NO_LIMIT),
    };
    if (work->goal.enable == PARAM_IS_UNSET)
        work->goal.enable = wish->enable;
    if (find_manager(&wish->ref, &work->manager, err) < 0)
        return -1;
    return read_service_status(work, &work->before, err);
}

/* --- check ------------------------------------------------------------------------------- */

/* Does it differ from the goal? */
static bool has_differences(enum param_tristate want, bool now)
{
    return want != PARAM_IS_UNSET && (want == PARAM_IS_TRUE) != now;
}

/* One that is starting or stopping is neither up nor down. */
static bool is_as_wanted(const struct service_status *now, bool running)
{
    return running ? now->running : !now->running && !now->moving;
}

static bool is_run_other(const struct services_goal *goal, const struct service_status *now)
{
    return goal->running != PARAM_IS_UNSET && !is_as_wanted(now, goal->running == PARAM_IS_TRUE);
}

/* Static or indirect units cannot be enabled or disabled. */
static bool is_boot_other(const struct services_goal *goal, const struct service_status *now)
{
    return !now->fixed && has_differences(goal->enable, now->enabled);
}

/* An unknown service is stopped and disabled. */
static bool is_fine_unknown(const struct services_goal *goal)
{
    return goal->running != PARAM_IS_TRUE && goal->enable != PARAM_IS_TRUE &&
           goal->masked != PARAM_IS_TRUE;
}

/* Does a watched change restart or reload it, whatever else has drifted? */
static bool has_reaction(const struct work *work)
{
    return work->run->forced && work->goal.restarts && work->before.running &&
           work->goal.running == PARAM_IS_TRUE;
}

static enum service_action choose_reaction(const struct services_wish *wish)
{
    return wish->reload && !wish->full_restart ? SERVICE_RELOAD : SERVICE_RESTART;
}

int services_check(struct state_run *run, const struct services_wish *wish,
                   const struct services_goal *goal, struct err *err)
{
    const struct service_status *now;
    struct work work;

    if (begin_state(&work, run, wish, goal, err) < 0)
        return -1;
    now = &work.before;
    if (!now->known && !now->masked && !is_fine_unknown(&work.goal)) {
        state_differs(run, "service %s does not exist yet", work.shown);
        return 0;
    }
    if (is_run_other(&work.goal, now))
        state_differs(run,
                      work.goal.running == PARAM_IS_TRUE ? "%s is not running"
                      : now->running                     ? "%s is running and should be dead"
                                     : "%s is starting or stopping and should be dead",
                      work.shown);
    if (has_differences(work.goal.masked, now->masked) || (wish->unmask && now->masked))
        state_differs(run, now->masked ? "%s is masked" : "%s is not masked", work.shown);
    if (is_boot_other(&work.goal, now))
        state_differs(run,
                      work.goal.enable == PARAM_IS_TRUE ? "%s is not enabled at boot"
                                                        : "%s is enabled at boot and should not be",
                      work.shown);
    if (has_reaction(&work))
        state_differs(run, "%s will be %s", work.shown, done_words[choose_reaction(wish)]);
    if (!run->differs)
        state_say(run, "%s is up to date", work.shown);
    return 0;
}

int services_answer(struct state_run *run, const struct services_wish *wish,
                    const struct services_goal *goal, struct value *ret, struct err *err)
{
    struct service_status now;

    if (services_look(run, &wish->ref, &now, err) < 0)
        return -1;
    *ret = value_bool(!is_run_other(goal, &now) && !has_differences(goal->enable, now.enabled) &&
                      !has_differences(goal->masked, now.masked));
    return 0;
}

/* --- apply ------------------------------------------------------------------------------- */

static int run_service_action(struct work *work, enum service_action action, struct err *err)
{
    const unsigned flags =
        (work->wish->no_block ? SERVICE_NO_BLOCK : 0) | (work->wish->runtime ? SERVICE_RUNTIME : 0);
    struct tool tool = work->tool;

    tool.timeout = work->wish->timeout;
    if (work->manager->act(&tool, work->name, action, flags, err) < 0)
        return -1;
    buf_printf(&work->done, "%s%s", work->done.n > 0 ? ", " : "", done_words[action]);
    return 0;
}

/* systemd accepts a runtime mask even if a unit file in /etc overrides it. */
static int set_mask(struct work *work, struct err *err)
{
    struct service_status now;

    if (run_service_action(work, SERVICE_MASK, err) < 0 || read_service_status(work, &now, err) < 0)
        return -1;
    if (now.masked)
        return 0;
    return err_set(err, ERR_INVALID, "%s was masked, but %s does not report it as masked%s",
                   work->shown, work->manager->name,
                   work->wish->runtime ? ": its unit file overrides a runtime mask" : "");
}

static int set_service_at_boot(struct work *work, struct err *err)
{
    const struct services_goal *goal = &work->goal;

    if (work->before.masked && (work->wish->unmask || goal->masked == PARAM_IS_FALSE) &&
        run_service_action(work, SERVICE_UNMASK, err) < 0)
        return -1;
    if (is_boot_other(goal, &work->before) &&
        run_service_action(work,
                           goal->enable == PARAM_IS_TRUE ? SERVICE_ENABLE
                           : goal->forget                ? SERVICE_FORGET
                                                         : SERVICE_DISABLE,
                           err) < 0)
        return -1;
    return goal->masked == PARAM_IS_TRUE && !work->before.masked ? set_mask(work, err) : 0;
}

static int pause_or_cancel(struct work *work, int64_t ns, struct err *err)
{
    if (pause_for(work->run->host->cancel, ns))
        return 0;
    return err_set(err, ERR_CANCELED, "canceled while waiting for %s", work->shown);
}

/* Wait until it is really up, or down; and, with init_delay, still is after a while. */
static int wait_settled(struct work *work, bool running, struct err *err)
{
    const struct services_wish *wish = work->wish;
    const int64_t deadline =
        clock_after(clock_real(), wish->timeout > 0 ? wish->timeout : SETTLE_TIMEOUT);
    struct service_status now;
    int well = 0;

    if (wish->no_block)
        return 0;
    if (wish->init_delay > 0 && pause_or_cancel(work, wish->init_delay, err) < 0)
        return -1;
    for (;;) {
        if (read_service_status(work, &now, err) < 0)
            return -1;
        well = is_as_wanted(&now, running) ? well + 1 : 0;
        if (well == (running ? LOOKS_UP : 1))
            return 0;
        if ((running && now.failed) || (well == 0 && clock_real() >= deadline))
            break;
        if (pause_or_cancel(work, LOOK_AGAIN, err) < 0)
            return -1;
    }
    return err_set(err, ERR_INVALID, "%s was %s, but %s says '%s'", work->shown,
                   running ? "started" : "stopped", work->manager->name, now.word);
}

static int set_running(struct work *work, struct err *err)
{
    const bool running = work->goal.running == PARAM_IS_TRUE;
    enum service_action action = running ? SERVICE_START : SERVICE_STOP;

    if (work->goal.running == PARAM_IS_UNSET)
        return 0;
    if (is_as_wanted(&work->before, running)) {
        if (!has_reaction(work))
            return 0;
        action = choose_reaction(work->wish);
    }
    if (run_service_action(work, action, err) < 0)
        return -1;
    return wait_settled(work, running, err);
}

/* Stop before disabling, start after enabling. */
static int carry_out_actions(struct work *work, struct err *err)
{
    if (work->goal.running == PARAM_IS_FALSE && set_running(work, err) < 0)
        return -1;
    if (set_service_at_boot(work, err) < 0)
        return -1;
    return work->goal.running == PARAM_IS_TRUE ? set_running(work, err) : 0;
}

/* On disk before anything changes. */
static int note_service_status(struct work *work, struct err *err)
{
    struct value_map *was = value_map_new(work->run->arena, 4);

    value_map_set(work->run->arena, was, value_text("running"),
                  value_bool(work->before.running || work->before.moving));
    value_map_set(work->run->arena, was, value_text("enabled"), value_bool(work->before.enabled));
    value_map_set(work->run->arena, was, value_text("masked"), value_bool(work->before.masked));
    value_map_set(work->run->arena, was, value_text("unlisted"), value_bool(work->before.unlisted));
    return state_note(work->run, "was", value_map(was), err);
}

static int apply_goal(struct work *work, struct err *err)
{
    if (!work->before.known && !work->before.masked) {
        if (is_fine_unknown(&work->goal))
            return 0;
        if (!work->manager->learns_late)
            return fail_without_service(&work->wish->ref, work->manager, err);
    }
    if (note_service_status(work, err) < 0)
        return -1;
    return carry_out_actions(work, err);
}

static void report_service_changes(struct work *work)
{
    if (work->done.n == 0) {
        state_say(work->run, "%s is up to date", work->shown);
        state_unchanged(work->run);
        return;
    }
    buf_clear(&work->run->text);
    state_say(work->run, "%s %s", buf_text(&work->done), work->shown);
    state_detail(work->run, "service", "%s", work->shown);
    state_detail(work->run, "action", "%s", buf_text(&work->done));
    state_detail(work->run, "manager", "%s", work->manager->name);
}

int services_apply(struct state_run *run, const struct services_wish *wish,
                   const struct services_goal *goal, struct err *err)
{
    struct work work;
    int result = begin_state(&work, run, wish, goal, err);

    if (result == 0)
        result = apply_goal(&work, err);
    if (result == 0)
        report_service_changes(&work);
    buf_done(&work.done);
    return result;
}

/* --- revert ------------------------------------------------------------------------------ */

/* Restore the facets that this state manages. */
static struct services_goal read_noted_service(const struct services_wish *wish,
                                               const struct services_goal *goal,
                                               const struct value *was)
{
    const struct value *unlisted = value_get(was, "unlisted");
    struct services_goal back = { 0 };
    const bool masks = goal->masked != PARAM_IS_UNSET || wish->unmask;
    const bool enables = goal->enable != PARAM_IS_UNSET || wish->enable != PARAM_IS_UNSET;
    const struct {
        const char *key;
        enum param_tristate *facet;
        bool counts;
    } facets[] = {
        { "running", &back.running, goal->running != PARAM_IS_UNSET },
        { "enabled", &back.enable, enables },
        { "masked", &back.masked, masks },
    };

    for (size_t i = 0; i < ARRAY_LEN(facets); i++) {
        const struct value *flag = value_get(was, facets[i].key);

        *facets[i].facet = !facets[i].counts || !flag || flag->kind != VALUE_BOOL ? PARAM_IS_UNSET
                           : flag->b                                              ? PARAM_IS_TRUE
                                                                                  : PARAM_IS_FALSE;
    }
    back.forget = unlisted && unlisted->kind == VALUE_BOOL && unlisted->b;
    return back;
}

/* Facets that are not as they were. */
static void foresee_actions(const struct work *work)
{
    const struct {
        enum param_tristate goal;
        bool now;
        const char *off, *on;
    } facets[] = {
        { work->goal.running, work->before.running, "stop", "start" },
        { work->goal.enable, work->before.enabled, "disable", "enable" },
        { work->goal.masked, work->before.masked, "unmask", "mask" },
    };
    bool any = false;

    for (size_t i = 0; i < ARRAY_LEN(facets) && work->before.known; i++) {
        if (facets[i].goal == PARAM_IS_UNSET || (facets[i].goal == PARAM_IS_TRUE) == facets[i].now)
            continue;
        state_say(work->run, "would %s %s",
                  facets[i].goal == PARAM_IS_TRUE ? facets[i].on : facets[i].off, work->shown);
        any = true;
    }
    if (!any)
        state_unchanged(work->run);
}

int services_revert(struct state_run *run, const struct services_wish *wish,
                    const struct services_goal *goal, struct err *err)
{
    const struct value *was = state_noted(run, "was");
    struct services_wish how = *wish;
    struct services_goal back;
    struct work work;
    int result;

    if (!was) {
        state_unchanged(run);
        return 0;
    }
    back = read_noted_service(wish, goal, was);
    how.unmask = false;
    how.enable = PARAM_IS_UNSET;
    result = begin_state(&work, run, &how, &back, err);
    if (result == 0 && run->test) {
        foresee_actions(&work);
        buf_done(&work.done);
        return 0;
    }
    if (result == 0 && work.before.known)
        result = carry_out_actions(&work, err);
    if (result == 0 && work.done.n > 0)
        state_say(run, "%s %s (revert)", buf_text(&work.done), work.shown);
    else if (result == 0)
        state_unchanged(run);
    buf_done(&work.done);
    return result;
}
