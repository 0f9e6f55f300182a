/* Requests that start something: start, run, restart, recreate. */

#include "core/base/buf.h"
#include "core/base/err.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/client.h"
#include "kepler/daemon/daemon.h"
#include "kepler/daemon/loader.h"
#include "kepler/daemon/loading.h"
#include "kepler/daemon/project.h"
#include "kepler/daemon/snapshot.h"
#include "kepler/daemon/stream.h"
#include "kepler/config/config.h"
#include "kepler/config/environment.h"
#include "kepler/config/reason.h"
#include "core/sys/tree.h"

/* --- loading ------------------------------------------------------------------------------- */

/* The config that was read becomes the call's project; refuses and returns -1 on a disk error. */
static int load_project(struct call *call)
{
    struct project *project = loader_take(call->loader);
    struct err err;

    if (project_open(project, &err) < 0) {
        project_free(project);
        call_fail(call, &err);
        return -1;
    }
    daemon_add(call->daemon, project);
    call->project = project;
    return 0;
}

/* Is the config valid, with all these services, before anything is stopped or loaded for it? */
static int check_read(struct call *call)
{
    const struct request_start *args = call->args;
    const struct config *config = loader_config(call->loader);
    struct err err;

    if (!config) {
        loader_refuse(call);
        return -1;
    }
    if (project_check_names(config, args->services, &err) < 0) {
        call_fail(call, &err);
        return -1;
    }
    return 0;
}

/* A stopping daemon starts nothing: it waits until all services have ended. */
static bool is_daemon_stopping(struct call *call)
{
    bool stopping = call->daemon->stopping;

    if (stopping)
        call_refuse(call, MESSAGE_ERROR, "the daemon is stopping");
    return stopping;
}

/* While the worker read, another call may have loaded the same file, unloaded it or stopped the
 * daemon; the client may have disconnected, so its rights are those from before. */
static int refresh_project(struct call *call)
{
    struct project *project = daemon_find(call->daemon, call->source->path);

    call->project = project;
    if (is_daemon_stopping(call))
        return -1;
    if (project && project->config->owner.uid != call->source->owner.uid) {
        call_refuse(call, MESSAGE_ERROR, "'%s' was loaded by another user in the meantime",
                    call->source->path);
        return -1;
    }
    return 0;
}

/* --- starting -------------------------------------------------------------------------------- */

static void open_stream(struct call *call)
{
    const struct request_start *args = call->args;
    const struct stream_options options = {
        .folder = call->project->logs,
        .filter = { .services = args->services.p,
                    .service_count = args->services.n,
                    .after = capture_next_line(&call->project->capture) - 1 },
        .follow = true,
        .fresh = true,
    };

    if (args->follow && args->logs)
        call->stream = stream_new(&options, call);
}

/* The reply of a call that continues: a follower recognizes it by its list of warnings, even an
 * empty one. */
static struct value answer_body(struct call *call, const char *message)
{
    struct value body = message_body(&call->arena, "message", message);

    value_map_set(&call->arena, body.map, value_text("warnings"),
                  value_list(value_list_new(&call->arena, 0)));
    return body;
}

static const char *describe_start(struct call *call, size_t started)
{
    if (call->project->config->service_count == 0)
        return arena_printf(&call->arena, "No services in '%s'", call->project->path);
    if (call->count == 0)
        return "All services are already running";
    return arena_printf(&call->arena, "Started %zu service%s", started, started == 1 ? "" : "s");
}

/* A user who edits a file and starts a service may think that the file was read again. */
static void warn_if_stale(struct call *call, struct value *body)
{
    if (loading_is_stale(call))
        value_list_push(
            &call->arena, value_get(body, "warnings")->list,
            value_text(arena_printf(&call->arena,
                                    "'%s' has changed since it was loaded: 'kepler apply' "
                                    "reads it again",
                                    call->project->path)));
}

/* All services being started count as started: nothing waits for them. */
static struct value start_body(struct call *call)
{
    struct value body = answer_body(call, describe_start(call, call->count));
    struct value_list *warnings = value_get(&body, "warnings")->list;

    if (call->warning)
        value_list_push(&call->arena, warnings, value_text(call->warning));
    VEC_EACH (&call->project->config->warnings, text)
        value_list_push(&call->arena, warnings, value_text(*text));
    warn_if_stale(call, &body);
    return body;
}

/* The names of services to start. */
static struct value_list *find_startable(struct call *call, struct engine_set set, unsigned flags)
{
    const struct engine *engine = call->project->engine;
    size_t n = set.count > 0 ? set.count : engine_count(engine);
    struct value_list *names = value_list_new(&call->arena, n);

    for (size_t i = 0; i < n; i++) {
        const struct service *service =
            engine_get(engine, set.count > 0 ? set.services[i] : (uint32_t)i);

        if (engine_is_startable(service, flags))
            value_list_push(&call->arena, names, value_text(service->config->name));
    }
    return names;
}

/* Nothing when it did start. */
static void print_failed_start(const struct service *service, struct buf *out)
{
    static const char *const words[STATUSES] = {
        [STATUS_FAILED] = "failed", [STATUS_STOPPED] = "was stopped while it was starting"
    };
    enum status status = service_status(service);

    if (status == STATUS_STOPPING && service->goal == GOAL_DOWN)
        status = STATUS_STOPPED; /* once its hooks have ended */
    if (status == STATUS_SKIPPED)
        reason_print_skip(service->config->name, buf_view(&service->reason), out);
    else if (words[status])
        buf_printf(out, "service '%s' %s%s%s", service->config->name, words[status],
                   service->reason.n > 0 ? ": " : "", buf_text(&service->reason));
}

/* Reports the named services that did not start; returns how many. A service that ran and ended did
 * start. */
static size_t add_failed_starts(struct call *call, struct value_list *errors)
{
    size_t count = 0;

    for (size_t i = 0; i < call->set.count; i++) {
        AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

        print_failed_start(engine_get(call->project->engine, call->set.services[i]), &text);
        if (text.n == 0)
            continue;
        count++;
        value_list_push(&call->arena, errors, value_str(buf_copy(&text, &call->arena)));
    }
    return count;
}

/* Named services are waited for until they have ended. */
static void step_started(struct call *call)
{
    struct value_list *errors;
    struct value body;
    size_t fallen;

    if (!call->project) {
        call_refuse(call, MESSAGE_ERROR, "the config was unloaded in the meantime");
        return;
    }
    if (!engine_is_started(call->project->engine, call->set))
        return;
    body = start_body(call);
    errors = value_list_new(&call->arena, 0);
    fallen = add_failed_starts(call, errors);
    value_map_set(&call->arena, body.map, value_text("errors"), value_list(errors));
    value_map_set(
        &call->arena, body.map, value_text("message"),
        value_text(describe_start(call, fallen < call->count ? call->count - fallen : 0)));
    call_finish(call, body);
}

/* Reports to a follower which services it started, and which were already up. */
static struct value follow_body(struct call *call, struct value_list *started)
{
    struct value body = start_body(call);
    size_t asked = call->set.count > 0 ? call->set.count : engine_count(call->project->engine);

    value_map_set(&call->arena, body.map, value_text("started"), value_list(started));
    value_map_set(&call->arena, body.map, value_text("before"),
                  value_int((int64_t)(asked - started->count)));
    return body;
}

/* The project is loaded: find the services, start, and answer. */
static void start_call_targets(struct call *call)
{
    const struct request_start *args = call->args;
    struct project *project = call->project;
    struct project_merge merge = { .environment = args->environment,
                                   .refresh = args->refresh_env,
                                   .overrides = args->overrides,
                                   .flags = args->flags };
    unsigned flags = (args->no_deps ? ENGINE_NO_DEPS : 0) | (args->services.n ? ENGINE_NAMED : 0);
    struct value_list *startable;
    struct engine_set set;

    call->step = NULL;
    if (call_find_services(call, args->services, &call->set) < 0)
        return;
    set = args->needs ? engine_with_needs(project->engine, call->set, &call->arena) : call->set;
    open_stream(call);
    project_merge(project, &merge);
    engine_ask_as(project->engine, call->who);
    startable = find_startable(call, set, flags);
    call->count = startable->count;
    if (args->follow) {
        call_answer(call, follow_body(call, startable));
        call_watch(call);
    } else {
        call->step = step_started;
    }
    project->settled = true; /* it may be through already */
    if (call->count > 0)
        project_start(project, set, flags);
    if (!args->follow && args->services.n == 0)
        call_finish(call, start_body(call));
    else if (args->follow && !call->client)
        call_free(call);
}

static bool refuse_while_busy(struct call *call)
{
    const struct project *project = call->project;

    if (!project || (!project->leaving && !project->changing))
        return false;
    call_refuse(call, MESSAGE_ERROR, "'%s' is being %s: try again", project->path,
                project->leaving ? "unloaded" : "changed");
    return true;
}

static void restart_call_targets(struct call *call);

/* Lines of earlier runs are in the store: new ones are from this start. */
static void step_begin(struct call *call)
{
    if (!call->project) {
        call_refuse(call, MESSAGE_ERROR, "the config was unloaded in the meantime: try again");
        return;
    }
    if (!capture_is_flushed(&call->project->capture, call->ticket))
        return;
    call->ticket = 0;
    if (is_daemon_stopping(call) || refuse_while_busy(call))
        return;
    if (call->kind == REQUEST_RESTART)
        restart_call_targets(call);
    else
        start_call_targets(call);
}

static void begin_after_flush(struct call *call)
{
    call->ticket = capture_flush(&call->project->capture);
    call->step = step_begin;
}

static void go_on_start(struct call *call)
{
    const struct request_start *args = call->args;
    struct err err;

    if (loading_check_level(call, &err) < 0)
        call_fail(call, &err);
    else if (args->logs)
        begin_after_flush(call);
    else
        start_call_targets(call);
}

/* A wrong name loads nothing: the file may be what is wrong. */
static void step_read(struct call *call)
{
    if (!loader_is_done(call->loader))
        return;
    call->step = NULL;
    if (refresh_project(call) < 0 || refuse_while_busy(call))
        return;
    if (!call->project && (check_read(call) < 0 || load_project(call) < 0))
        return;
    go_on_start(call);
}

void handle_start(struct call *call)
{
    const struct request_start *args = call->args;

    if (args->no_deps && args->services.n == 0) {
        call_refuse(call, MESSAGE_ERROR, "--no-deps requires at least one service");
        return;
    }
    if (call_find_project(call, args->config) < 0 || refuse_while_busy(call))
        return;
    if (!call->project && (loading_read(call) < 0 || refuse_while_busy(call)))
        return;
    if (call->project) {
        go_on_start(call);
        return;
    }
    loader_begin(call, step_read);
}

/* --- run and recreate: stop, forget, load anew -------------------------------------------- */

static int remove_stored(struct call *call, const char *folder, struct err *err)
{
    const struct request_start *args = call->args;

    if (call->kind == REQUEST_RECREATE || args->start_clean)
        return tree_remove(folder, err);
    return snapshot_remove(folder, err);
}

static void step_anew(struct call *call)
{
    const struct request_start *args = call->args;
    struct project *project = call->project;
    const char *folder;
    struct err err;

    if (project && !engine_is_down(project->engine, ENGINE_ALL))
        return;
    call->step = NULL;
    if (is_daemon_stopping(call))
        return;
    folder = home_config(&call->arena, &call->daemon->home, call->source->path);
    call->project = NULL;
    if (project)
        daemon_unload(call->daemon, project);
    if (daemon_find(call->daemon, call->source->path)) {
        call_refuse(call, MESSAGE_ERROR, "'%s' was loaded by another user in the meantime",
                    call->source->path);
        return;
    }
    if (remove_stored(call, folder, &err) < 0) {
        call_fail(call, &err);
        return;
    }
    if (load_project(call) < 0)
        return;
    call->project->no_snapshot = call->kind == REQUEST_RUN && !args->lasting;
    start_call_targets(call);
}

/* --- run beside others ---------------------------------------------------------------------- */

static void step_apart(struct call *call)
{
    if (!call->project) {
        call_refuse(call, MESSAGE_ERROR, "the config was unloaded in the meantime: try again");
        return;
    }
    if (!engine_is_stopped(call->project->engine, call->set))
        return;
    call->step = NULL;
    if (!is_daemon_stopping(call) && !refuse_while_busy(call))
        go_on_start(call);
}

/* Reading the file again would stop the others: the services run as they are loaded. */
static void run_apart(struct call *call)
{
    const struct request_start *args = call->args;
    const struct engine_stop how = { .keep_logs = true };

    if (args->start_clean || args->clean_after) {
        call_refuse(call, MESSAGE_ERROR,
                    "--%s removes the data of all services of '%s', and others run: leave it out, "
                    "or stop them first",
                    args->start_clean ? "start-clean" : "clean", call->project->path);
        return;
    }
    engine_ask_as(call->project->engine, arena_printf(&call->arena, "%s, to run it", call->who));
    engine_stop(call->project->engine, call->set, &how);
    call->project->settled = true;
    call->step = step_apart;
}

static void step_read_anew(struct call *call)
{
    const struct request_start *args = call->args;
    struct engine_stop how = { .clean = call->kind == REQUEST_RECREATE };

    if (!loader_is_done(call->loader))
        return;
    call->step = NULL;
    if (refresh_project(call) < 0 || refuse_while_busy(call) || check_read(call) < 0)
        return;
    call->step = step_anew;
    if (call->project) {
        call->project->leaving = true;
        /* A daemon that ends meanwhile leaves it as it was. */
        if (call->project->snapshot_time != 0)
            project_freeze(call->project);
        call->project->keep_lines = call->kind == REQUEST_RUN;
        call->progress = args->progress;
        engine_ask_as(call->project->engine, arena_printf(&call->arena, "%s, to %s it", call->who,
                                                          request_get(call->kind)->record.name));
        engine_stop(call->project->engine, ENGINE_ALL, &how);
        call->project->settled = true;
        return;
    }
    step_anew(call);
}

static void load_anew(struct call *call)
{
    const struct request_start *args = call->args;

    if (call_find_project(call, args->config) < 0 || refuse_while_busy(call))
        return;
    if (loading_read(call) < 0 || refuse_while_busy(call))
        return;
    loader_begin(call, step_read_anew);
}

/* Does a service run that is not named? Names of the file alone are not known yet. */
static bool has_others(struct call *call)
{
    const struct request_start *args = call->args;
    const struct project *project = call->project;
    uint32_t *known = ARENA_ARRAY(&call->arena, uint32_t, args->services.n);
    size_t count = 0;

    for (size_t i = 0; i < args->services.n; i++) {
        const int64_t index = config_find(project->config, args->services.p[i]);

        if (index >= 0)
            known[count++] = (uint32_t)index;
    }
    return count == 0 ? !engine_is_down(project->engine, ENGINE_ALL)
                      : engine_has_others(project->engine, (struct engine_set){ known, count, 0 });
}

void handle_run(struct call *call)
{
    const struct request_start *args = call->args;

    if (args->no_deps && args->services.n == 0)
        call_refuse(call, MESSAGE_ERROR, "--no-deps requires at least one service");
    else if (call_find_project(call, args->config) < 0 || refuse_while_busy(call))
        return;
    else if (!call->project || !args->apart || args->services.n == 0 || !has_others(call))
        load_anew(call);
    else if (call_find_services(call, args->services, &call->set) == 0)
        run_apart(call);
}

void handle_recreate(struct call *call)
{
    load_anew(call);
}

/* --- restart -------------------------------------------------------------------------------- */

/* The services of the set that run, or are about to. */
static struct engine_set find_running(struct call *call)
{
    const struct engine *engine = call->project->engine;
    size_t n = call->set.count > 0 ? call->set.count : engine_count(engine);
    uint32_t *services = ARENA_ARRAY(&call->arena, uint32_t, n);
    struct engine_set running = { services, 0, 0 };

    for (size_t i = 0; i < n; i++) {
        uint32_t index = call->set.count > 0 ? call->set.services[i] : (uint32_t)i;

        if (engine_is_restartable(engine_get(engine, index)))
            services[running.count++] = index;
    }
    return running;
}

/* The first service that failed to start again. Those whose `if` is now false have been reported.
 */
static const struct service *find_failed_restart(const struct call *call)
{
    for (size_t i = 0; i < call->set.count; i++) {
        const struct service *service = engine_get(call->project->engine, call->set.services[i]);

        if (service_status(service) == STATUS_FAILED || service_status(service) == STATUS_STOPPED)
            return service;
    }
    return NULL;
}

static const char *describe_failed_restart(const struct service *fallen)
{
    return service_status(fallen) == STATUS_STOPPED ? "it was stopped during the restart"
                                                    : buf_text(&fallen->reason);
}

/* They are up again; a follower has seen failures, and stays until all are ready. */
static void keep_following(struct call *call, struct value body)
{
    const struct request_start *args = call->args;

    call->step = NULL;
    if (args->services.n == 0) {
        call->set = ENGINE_ALL;
        call->concerned = NULL;
    }
    call->project->settled = true;
    call_answer(call, body);
    if (!call->client)
        call_free(call);
}

static void step_restart(struct call *call)
{
    const struct request_start *args = call->args;
    const struct service *fallen;
    struct value body;

    if (!call->project) {
        call_refuse(call, MESSAGE_ERROR, "the config was unloaded in the meantime");
        return;
    }
    if (!engine_is_settled(call->project->engine, call->set))
        return;
    body = answer_body(call, arena_printf(&call->arena, "Restarted %zu service%s", call->count,
                                          call->count == 1 ? "" : "s"));
    warn_if_stale(call, &body);
    fallen = find_failed_restart(call);
    if (args->follow)
        keep_following(call, body);
    else if (fallen)
        call_refuse(call, MESSAGE_ERROR, "service '%s' did not come up again: %s",
                    fallen->config->name, describe_failed_restart(fallen));
    else
        call_finish(call, body);
}

/* The services are found among those that run, and restart. */
static void restart_call_targets(struct call *call)
{
    const struct request_start *args = call->args;
    struct project_merge merge = { .environment = args->environment,
                                   .refresh = args->refresh_env,
                                   .overrides = args->overrides,
                                   .flags = args->flags };
    unsigned flags = (args->no_deps ? ENGINE_NO_DEPS : 0) | (args->services.n ? ENGINE_NAMED : 0);

    if (call_find_services(call, args->services, &call->set) < 0)
        return;
    project_merge(call->project, &merge);
    engine_ask_as(call->project->engine, call->who);
    call->set = find_running(call);
    if (call->set.count == 0) {
        call_say(call, "No running services to restart");
        return;
    }
    open_stream(call);
    if (args->follow)
        call_watch(call);
    call->progress = args->progress;
    call->step = step_restart;
    call->count = engine_restart(call->project->engine, call->set, flags);
    call->project->settled = true;
}

void handle_restart(struct call *call)
{
    const struct request_start *args = call->args;

    if (call_find_project(call, args->config) < 0 || refuse_while_busy(call))
        return;
    if (!call->project)
        call_refuse(call, MESSAGE_UNKNOWN, "'%s' is not loaded: start it first", args->config);
    else if (args->logs)
        begin_after_flush(call);
    else
        restart_call_targets(call);
}
