/* Requests about a changed file: diff, apply. */

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/sys/clock.h"
#include "kepler/config/config.h"
#include "kepler/config/config_change.h"
#include "kepler/config/environment.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/call_access.h"
#include "kepler/daemon/daemon.h"
#include "kepler/daemon/loader.h"
#include "kepler/daemon/loading.h"
#include "kepler/daemon/project.h"
#include "kepler/engine/readiness.h"

/* An apply from its plan to its end. */
struct call_applying {
    struct config_changes changes;
    struct value plan;      /* for the reply */
    struct str old_text;    /* to go back to */
    struct param_strs up;   /* names to start */
    struct param_strs rest; /* names that were stopped by hand, and are gone: not to start again */
    int64_t deadline;       /* 0: none */
    bool reverting;
    struct value_list *errors;
};

typedef VEC(uint32_t) service_numbers;

/* --- the plan ------------------------------------------------------------------------------- */

static bool has_name(const struct param_strs *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->p[i], name) == 0)
            return true;
    return false;
}

/* A stopped service gets its new definition for its next start. One that waits for dependencies
 * looks at the new ones from the beginning, and so does one that an apply brought down which is
 * being reverted. */
static void fit_change(const struct call *call, struct config_change *change)
{
    const struct service *service = engine_find(call->project->engine, change->name);
    const struct call_applying *applying = call->applying;
    const enum status status = service ? service_status(service) : STATUS_STOPPED;
    const bool retry = applying->reverting && has_name(&applying->up, change->name);

    change->idle = !status_is_active(status);
    if (!service || change->kind == CONFIG_CHANGE_STOP)
        return;
    if (change->kind == CONFIG_CHANGE_RESTART && status == STATUS_STOPPED && !retry)
        change->kind = CONFIG_CHANGE_IN_PLACE;
    else if (change->kind == CONFIG_CHANGE_IN_PLACE && !change->idle &&
             !status_is_running(status) && config_change_has(change, "depends_on"))
        change->kind = CONFIG_CHANGE_RESTART;
    else if (retry && change->idle)
        change->kind = CONFIG_CHANGE_RESTART;
}

static struct value keys_value(struct call *call, const config_change_keys *keys)
{
    struct value_list *list = value_list_new(&call->arena, keys->n);

    VEC_EACH (keys, key) {
        struct value_map *map = value_map_new(&call->arena, 3);

        value_map_set(&call->arena, map, value_text("key"), value_text(key->key));
        if (call->kind == REQUEST_DIFF) { /* values need the right to inspect them */
            value_map_set(&call->arena, map, value_text("old"), key->old);
            value_map_set(&call->arena, map, value_text("new"), key->now);
        }
        value_list_push(&call->arena, list, value_map(map));
    }
    return value_list(list);
}

static struct value change_value(struct call *call, const struct config_change *change)
{
    struct value_map *map = value_map_new(&call->arena, 4);

    value_map_set(&call->arena, map, value_text("service"), value_text(change->name));
    value_map_set(&call->arena, map, value_text("action"),
                  value_text(config_change_name(change->kind)));
    value_map_set(&call->arena, map, value_text("cause"),
                  change->cause ? value_text(change->cause) : value_null());
    value_map_set(&call->arena, map, value_text("changed"), keys_value(call, &change->keys));
    return value_map(map);
}

static struct value plan_value(struct call *call, const struct config_changes *changes)
{
    struct value_map *map = value_map_new(&call->arena, 4);
    struct value_list *list = value_list_new(&call->arena, changes->count);
    int64_t unchanged = 0;

    for (size_t i = 0; i < changes->count; i++)
        if (changes->services[i].kind == CONFIG_CHANGE_NONE)
            unchanged++;
        else
            value_list_push(&call->arena, list, change_value(call, &changes->services[i]));
    value_map_set(&call->arena, map, value_text("same"),
                  value_bool(config_change_is_empty(changes)));
    value_map_set(&call->arena, map, value_text("file"), keys_value(call, &changes->file));
    value_map_set(&call->arena, map, value_text("services"), value_list(list));
    value_map_set(&call->arena, map, value_text("unchanged"), value_int(unchanged));
    return value_map(map);
}

static struct value warnings_value(struct call *call, const struct config *now)
{
    struct value_list *list = value_list_new(&call->arena, now->warnings.n);

    if (call->warning)
        value_list_push(&call->arena, list, value_text(call->warning));
    VEC_EACH (&now->warnings, text)
        value_list_push(&call->arena, list, value_text(*text));
    return value_list(list);
}

static void make_plan(struct call *call, const struct config *now)
{
    struct call_applying *applying = call->applying;

    applying->changes = config_change_find(&call->arena, call->project->config, now);
    for (size_t i = 0; i < applying->changes.count; i++)
        fit_change(call, &applying->changes.services[i]);
    config_change_follow(&applying->changes, now);
    if (applying->reverting)
        return;
    applying->plan = plan_value(call, &applying->changes);
    value_map_set(&call->arena, applying->plan.map, value_text("warnings"),
                  warnings_value(call, now));
}

static bool is_touched(const struct config_change *change)
{
    return change->kind == CONFIG_CHANGE_START || change->kind == CONFIG_CHANGE_RESTART;
}

/* Services that will be started, and those of them that are down by the user's wish. */
static void list_names(struct call *call)
{
    struct call_applying *applying = call->applying;
    const struct config_changes *changes = &applying->changes;
    const char **up = ARENA_ARRAY(&call->arena, const char *, changes->count + 1);
    const char **rest = ARENA_ARRAY(&call->arena, const char *, changes->count + 1);
    size_t ups = 0, rests = 0;

    for (size_t i = 0; i < changes->count; i++) {
        const struct config_change *change = &changes->services[i];

        if (is_touched(change) && !has_name(&applying->rest, change->name))
            up[ups++] = change->name;
        if (change->kind == CONFIG_CHANGE_STOP && change->idle)
            rest[rests++] = change->name;
    }
    applying->up = (struct param_strs){ ups, up };
    applying->rest = (struct param_strs){ rests, rest };
}

/* --- ending --------------------------------------------------------------------------------- */

static void end_applying(struct call *call)
{
    struct project *project = call->project;

    call->step = NULL;
    if (!project)
        return;
    timer_clear(loop_timers(call->daemon->loop), &project->apply_timer);
    project->applying = project->changing = false;
}

static void finish_apply(struct call *call, const char *message)
{
    const struct call_applying *applying = call->applying;
    struct value body = value_copy(&call->arena, &applying->plan);

    value_map_set(&call->arena, body.map, value_text("message"), value_text(message));
    value_map_set(&call->arena, body.map, value_text("errors"), value_list(applying->errors));
    value_map_set(&call->arena, body.map, value_text("reverted"), value_bool(applying->reverting));
    end_applying(call);
    call_finish(call, body);
}

static const char *describe_apply(const struct call *call)
{
    return config_change_is_empty(&call->applying->changes) ? "" : "Applied";
}

/* Returns whether the call has ended: its project is gone, or is about to. */
static bool is_interrupted(struct call *call)
{
    if (!call->project)
        call_refuse(call, MESSAGE_ERROR, "the config was unloaded in the meantime");
    else if (call->daemon->stopping)
        call_refuse(call, MESSAGE_ERROR, "the daemon is stopping");
    else
        return false;
    return true;
}

static bool refuse_busy_apply(struct call *call)
{
    const struct project *project = call->project;

    if (project->leaving)
        call_refuse(call, MESSAGE_ERROR, "'%s' is being unloaded: try again", project->path);
    else if (project->applying)
        call_refuse(call, MESSAGE_ERROR, "another 'kepler apply' changes '%s': try again",
                    project->path);
    else
        return false;
    return true;
}

/* --- up ------------------------------------------------------------------------------------- */

/* Numbers of services by name; unknown ones are left out. */
static struct engine_set find_set(struct call *call, const struct param_strs *names)
{
    const struct config *config = call->project->config;
    uint32_t *services = ARENA_ARRAY(&call->arena, uint32_t, names->n + 1);
    size_t count = 0;

    for (size_t i = 0; i < names->n; i++) {
        int64_t index = config_find(config, names->p[i]);

        if (index >= 0)
            services[count++] = (uint32_t)index;
    }
    return (struct engine_set){ services, count, 0 };
}

static bool is_good(const struct service *service)
{
    const enum status status = service_status(service);

    return status == STATUS_RUNNING || status == STATUS_HEALTHY || status == STATUS_SKIPPED ||
           (status == STATUS_EXITED && !readiness_is_unhandled(service));
}

/* One that is up has not been checked yet when the time is over. */
static void add_apply_error(struct call *call, const struct service *service)
{
    const char *reason = is_good(service) ? "not ready in time" : buf_text(&service->reason);

    value_list_push(&call->arena, call->applying->errors,
                    value_text(arena_printf(
                        &call->arena, "service '%s' is %s%s%s", service->config->name,
                        status_name(service_status(service)), reason[0] ? ": " : "", reason)));
}

/* Reports those that did not come up. */
static size_t count_bad(struct call *call, struct engine_set set)
{
    size_t count = 0;

    for (size_t i = 0; i < set.count; i++) {
        const struct service *service = engine_get(call->project->engine, set.services[i]);

        if (is_good(service) && readiness_is_ready(call->project->engine,
                                                   (struct engine_set){ &set.services[i], 1, 0 }))
            continue;
        add_apply_error(call, service);
        count++;
    }
    return count;
}

static void read_file(struct call *call, call_step_fn *step);
static call_step_fn step_revert_read;

static void revert_apply(struct call *call)
{
    struct config_source *source = ARENA_NEW(&call->arena, struct config_source);

    *source = *call->source;
    source->text = call->applying->old_text;
    call->source = source;
    call->applying->reverting = true;
    read_file(call, step_revert_read);
}

static void step_ready(struct call *call)
{
    const struct request_apply *args = call->args;
    struct call_applying *applying = call->applying;
    struct engine_set set;
    bool late = applying->deadline > 0 && clock_now() >= applying->deadline;

    if (is_interrupted(call))
        return;
    set = find_set(call, &applying->up);
    if (set.count > 0 && !late && !readiness_is_ready(call->project->engine, set))
        return;
    if (count_bad(call, set) == 0)
        finish_apply(call, describe_apply(call));
    else if (args->revert && !applying->reverting)
        revert_apply(call);
    else
        finish_apply(call, "");
}

static void on_apply_late(struct timer *timer)
{
    struct project *project = container_of(timer, struct project, apply_timer);

    project->settled = true; /* the call looks again */
}

static void wait_until_ready(struct call *call)
{
    const struct request_apply *args = call->args;
    struct project *project = call->project;

    call->step = step_ready;
    project->settled = true;
    if (args->timeout == 0)
        return;
    call->applying->deadline = clock_after(clock_now(), args->timeout);
    timer_set(loop_timers(call->daemon->loop), &project->apply_timer, call->applying->deadline,
              on_apply_late);
}

static void start_changed(struct call *call)
{
    const struct request_apply *args = call->args;
    struct call_applying *applying = call->applying;
    struct project *project = call->project;
    struct engine_set set = find_set(call, &applying->up);

    engine_ask_as(project->engine,
                  arena_printf(&call->arena, "%s, to %s '%s'", call->who,
                               applying->reverting ? "go back to the former" : "apply the changed",
                               project->path));
    if (set.count > 0)
        engine_start(project->engine, set, 0);
    project->initialized = project->initialized || set.count > 0;
    project->changed = project->settled = true;
    project_save(project);
    if (applying->reverting) {
        value_list_push(&call->arena, applying->errors,
                        value_text("not applied: the former config runs again"));
        finish_apply(call, "");
    } else if (args->ready) {
        wait_until_ready(call);
    } else {
        finish_apply(call, describe_apply(call));
    }
}

/* --- down ----------------------------------------------------------------------------------- */

static void step_down(struct call *call)
{
    struct project *project = call->project;
    const uint32_t *numbers;

    if (is_interrupted(call))
        return;
    if (call->set.count > 0 && !engine_is_down(project->engine, call->set))
        return;
    call->step = NULL;
    numbers = project_change(project, loader_take(call->loader), &call->arena);
    call->set = ENGINE_ALL;
    for (struct call *other = call->daemon->calls; other; other = other->next)
        if (other != call && other->project == project)
            call_renumber(other, numbers);
    project->changing = false;
    log_info("config changed config=%s cause=requested by %s", project->path, call->who);
    start_changed(call);
}

static struct engine_set find_leaving(struct call *call)
{
    const struct config_changes *changes = &call->applying->changes;
    const char **names = ARENA_ARRAY(&call->arena, const char *, changes->count + 1);
    size_t count = 0;

    for (size_t i = 0; i < changes->count; i++)
        if (changes->services[i].kind == CONFIG_CHANGE_RESTART ||
            changes->services[i].kind == CONFIG_CHANGE_STOP)
            names[count++] = changes->services[i].name;
    return find_set(call, &(struct param_strs){ count, names });
}

/* The plan is made: everything that can be refused was. */
static void stop_changed(struct call *call, const struct config *now)
{
    const struct engine_stop how = { .keep_logs = true };
    struct project *project = call->project;
    struct err err;

    if (project_promise(project, now, &err) < 0) {
        end_applying(call);
        call_fail(call, &err);
        return;
    }
    list_names(call);
    call->set = find_leaving(call);
    project->applying = project->changing = true;
    engine_ask_as(project->engine, arena_printf(&call->arena, "%s, since '%s' has changed",
                                                call->who, project->path));
    call->step = step_down;
    if (call->set.count > 0)
        engine_stop(project->engine, call->set, &how);
    project->settled = true;
}

static void step_revert_read(struct call *call)
{
    const struct config *old;

    if (is_interrupted(call) || !loader_is_done(call->loader))
        return;
    call->step = NULL;
    old = loader_config(call->loader);
    if (!old) { /* it was valid with the same environment */
        value_list_push(&call->arena, call->applying->errors,
                        value_text("the former config can no longer be read: it is not restored"));
        finish_apply(call, "");
        return;
    }
    make_plan(call, old);
    stop_changed(call, old);
}

/* --- the file ------------------------------------------------------------------------------- */

static void refuse_file_keys(struct call *call)
{
    AUTO_BUF struct buf names = BUF_INIT(BUF_NO_LIMIT);

    VEC_EACH (&call->applying->changes.file, key)
        buf_printf(&names, "%s%s", names.n > 0 ? ", " : "", key->key);
    call_refuse(call, MESSAGE_ERROR,
                "%s changed in '%s', for all services: 'kepler run' stops them and reads it again",
                buf_text(&names), call->project->path);
}

static void step_compare(struct call *call)
{
    const struct request_apply *args = call->args;
    const struct config *now;

    if (call->project && !loader_is_done(call->loader))
        return;
    call->step = NULL;
    if (is_interrupted(call) || refuse_busy_apply(call))
        return;
    now = loader_config(call->loader);
    if (!now) {
        loader_refuse(call);
        return;
    }
    make_plan(call, now);
    if (call->kind == REQUEST_DIFF)
        call_finish(call, call->applying->plan);
    else if (call->applying->changes.file.n > 0)
        refuse_file_keys(call);
    else if (args->test || str_eq(now->text, call->project->config->text))
        call_finish(call, call->applying->plan);
    else if (call->project->changes >= PROJECT_CHANGES_MAX)
        call_refuse(call, MESSAGE_ERROR,
                    "'%s' was changed %d times since it was loaded: 'kepler run' loads it anew",
                    call->project->path, PROJECT_CHANGES_MAX);
    else
        stop_changed(call, now);
}

static void read_file(struct call *call, call_step_fn *step)
{
    loader_free(call->loader);
    call->loader = NULL;
    loader_begin(call, step);
}

/* Keeps the environment that was captured when the config was loaded. */
static void keep_captured(struct call *call)
{
    const struct project *project = call->project;
    const struct config *config = project->config;
    struct config_source *source = ARENA_NEW(&call->arena, struct config_source);
    struct value *flags = ARENA_NEW(&call->arena, struct value);

    *source = *call->source;
    *flags = value_copy(&call->arena, project->flags);
    source->kepler_env = environment_copy(&call->arena, project->env);
    source->flags = flags;
    source->owner = config->owner;
    source->hardening = hardening_max(source->hardening, config->hardening);
    source->ceiling.withheld |= config->ceiling.withheld;
    source->ceiling.hardening = hardening_max(source->ceiling.hardening, config->ceiling.hardening);
    call->source = source;
}

void handle_apply(struct call *call)
{
    const struct request_apply *args = call->args;

    if (call_find_project(call, args->start.config) < 0)
        return;
    if (!call->project) {
        call_refuse(call, MESSAGE_UNKNOWN, "'%s' is not loaded: start it first",
                    args->start.config);
        return;
    }
    if (refuse_busy_apply(call) || loading_read(call) < 0)
        return;
    if (!call->project) {
        call_refuse(call, MESSAGE_UNKNOWN, "'%s' is not loaded: start it first",
                    call->source->path);
        return;
    }
    call->applying = ARENA_NEW(&call->arena, struct call_applying);
    call->applying->errors = value_list_new(&call->arena, 0);
    call->applying->old_text = arena_str(&call->arena, call->project->config->text);
    keep_captured(call);
    read_file(call, step_compare);
}
