#include "kepler/daemon/call.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "kepler/daemon/caller.h"
#include "kepler/daemon/client.h"
#include "kepler/daemon/daemon.h"
#include "kepler/daemon/call_access.h"
#include "kepler/daemon/authorizer_run.h"
#include "kepler/daemon/loader.h"
#include "kepler/daemon/loading.h"
#include "kepler/daemon/metrics_reading.h"
#include "kepler/daemon/project.h"
#include "kepler/daemon/state_file.h"
#include "kepler/daemon/stream.h"
#include "kepler/config/config.h"
#include "kepler/engine/readiness.h"
#include "core/graph/reach.h"
#include "core/sys/account.h"

static void handle_cancel(struct call *call);

/* clang-format off */
static call_handler_fn *const handlers[REQUEST_KINDS] = {
    [REQUEST_PING]     = handle_ping,
    [REQUEST_LIST]     = handle_list,
    [REQUEST_STATUS]   = handle_status,
    [REQUEST_START]    = handle_start,
    [REQUEST_RUN]      = handle_run,
    [REQUEST_STOP]     = handle_stop,
    [REQUEST_RESTART]  = handle_restart,
    [REQUEST_RELOAD]   = handle_reload,
    [REQUEST_RECREATE] = handle_recreate,
    [REQUEST_DIFF]     = handle_apply,
    [REQUEST_APPLY]    = handle_apply,
    [REQUEST_LOGS]     = handle_logs,
    [REQUEST_METRICS]  = handle_metrics,
    [REQUEST_INSPECT]  = handle_inspect,
    [REQUEST_WHY]      = handle_why,
    [REQUEST_EVENTS]   = handle_events,
    [REQUEST_RIGHTS]   = handle_rights,
    [REQUEST_CHECK]    = handle_check,
    [REQUEST_WAIT]     = handle_wait,
    [REQUEST_PRUNE]    = handle_prune,
    [REQUEST_SHUTDOWN] = handle_shutdown,
    [REQUEST_CANCEL]   = handle_cancel,
};
/* clang-format on */

/* --- life --------------------------------------------------------------------------------- */

static struct call *call_new(struct client *client, const struct message *message)
{
    struct call *call = mem_zalloc(sizeof(*call));
    struct daemon *daemon = client->daemon;

    call->daemon = daemon;
    call->client = client;
    call->id = message->id;
    call->next = daemon->calls;
    call->back = &daemon->calls;
    if (call->next)
        call->next->back = &call->next;
    daemon->calls = call;
    return call;
}

void call_free(struct call *call)
{
    stream_free(call->stream);
    metrics_reading_free(call->reading);
    loader_free(call->loader);
    authorizer_run_free(call->authorizer_run);
    *call->back = call->next;
    if (call->next)
        call->next->back = call->back;
    arena_done(&call->arena);
    free(call);
}

/* Another request of this client with the same id. */
static struct call *find_other(const struct call *call, uint64_t id)
{
    for (struct call *other = call->daemon->calls; other; other = other->next)
        if (other != call && other->client == call->client && other->id == id)
            return other;
    return NULL;
}

/* The caller's name, for recorded causes. */
static const char *find_caller_name(struct call *call)
{
    const struct acl_caller *caller = &call->caller;
    const char *name =
        caller->name ? caller->name : arena_printf(&call->arena, "uid %u", caller->uid);

    if (caller->kind != ACL_TOKEN)
        return name;
    return arena_printf(&call->arena, "%s, with the token of service '%s'", name,
                        caller->token_name);
}

/* Access was granted: now, or once an authorizer has agreed. */
static void enter_call(struct call *call)
{
    if (call->daemon->stopping && !request_get(call->kind)->late)
        call_refuse(call, MESSAGE_ERROR,
                    "the daemon is stopping: start the next one with 'kepler daemon start -d'");
    else
        handlers[call->kind](call);
}

void call_begin(struct client *client, const struct message *message)
{
    struct call *call = call_new(client, message);
    struct value body = value_copy(&call->arena, &message->body);
    const char *refusal = client_refusal(client, message->token, &call->arena, &call->caller);
    struct err err;
    void *args;

    call->token = message->token ? arena_strdup(&call->arena, message->token) : NULL;
    /* Never the body: it holds environments. */
    log_debug("request name=%s id=%llu pid=%d uid=%u", message->name,
              (unsigned long long)message->id, (int)client->peer.pid, client->peer.uid);
    if (refusal) { /* removed from the group since it connected, or its token has ended */
        call_refuse(call, MESSAGE_DENIED, "%s", refusal);
        return;
    }
    if (message->kind != MESSAGE_REQUEST || !request_find(message->name, &call->kind)) {
        call_refuse(call, MESSAGE_ERROR, "unknown request '%s'", message->name);
        return;
    }
    if (find_other(call, message->id)) {
        call_refuse(call, MESSAGE_ERROR, "request %llu is in progress",
                    (unsigned long long)message->id);
        return;
    }
    if (request_decode(&call->arena, call->kind, &body, &args, &err) < 0) {
        call_fail(call, &err);
        return;
    }
    call->args = args;
    if (request_get(call->kind)->acts)
        call->who = find_caller_name(call);
    call_access_begin(call, enter_call);
}

/* Calls that only report or wait end; those that act continue without a client. */
void call_leave(struct client *client)
{
    struct call *next;

    for (struct call *call = client->daemon->calls; call; call = next) {
        next = call->next;
        if (call->client != client)
            continue;
        call->client = NULL;
        call->watching = false;
        stream_free(call->stream);
        call->stream = NULL;
        if (!call->step || request_get(call->kind)->waits)
            call_free(call);
    }
}

static void handle_cancel(struct call *call)
{
    const struct request_cancel *args = call->args;
    struct call *other = find_other(call, (uint64_t)args->id);

    if (other && (other->watching || other->stream))
        call_say(other, "canceled");
    call_say(call, "canceled");
}

/* --- words -------------------------------------------------------------------------------- */

static void send_call_message(struct call *call, enum message_kind kind, const char *name,
                              struct value body)
{
    const struct message message = { kind, call->id, name, body, NULL };
    struct err err;

    if (call->client && connection_send(&call->client->connection, &message, &err) < 0)
        log_warning("message not sent name=%s error=%s", name, err.text);
}

/* The state is on disk before the reply: started services come back after a crash, and stopped ones
 * do not. */
static void send_call_reply(struct call *call, const char *name, struct value body)
{
    log_debug("reply name=%s id=%llu", name, (unsigned long long)call->id);
    if (call->project)
        project_save_told(call->project);
    send_call_message(call, MESSAGE_REPLY, name, body);
}

void call_answer(struct call *call, struct value body)
{
    send_call_reply(call, MESSAGE_OK, body);
}

void call_finish(struct call *call, struct value body)
{
    call_answer(call, body);
    call_free(call);
}

void call_say(struct call *call, const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    text = arena_vprintf(&call->arena, fmt, args);
    va_end(args);
    call_finish(call, message_body(&call->arena, "message", text));
}

void call_refuse(struct call *call, const char *name, const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    text = arena_vprintf(&call->arena, fmt, args);
    va_end(args);
    send_call_reply(call, name, message_body(&call->arena, "message", text));
    call_free(call);
}

void call_fail(struct call *call, const struct err *err)
{
    call_refuse(call, MESSAGE_ERROR, "%s", err->text);
}

void call_event(struct call *call, const char *name, struct value body)
{
    send_call_message(call, MESSAGE_EVENT, name, body);
}

/* A caller who cannot read the file learns nothing else about it. */
void call_refuse_foreign(struct call *call, const char *path, uid_t owner)
{
    struct err err;

    if (caller_can_read(&call->caller, path, &err) < 0)
        call_refuse(call, MESSAGE_DENIED, "%s", err.text);
    else
        call_refuse(call, MESSAGE_DENIED, "'%s' belongs to %s: only they and root may use it", path,
                    account_describe(&call->arena, owner));
}

int call_find_project(struct call *call, const char *path)
{
    struct project *project = daemon_find(call->daemon, path);

    if (project && !call_access_allows(call, path)) {
        call_refuse_foreign(call, path, project->config->owner.uid);
        return -1;
    }
    if (project)
        project_save_told(project);
    call->project = project;
    return 0;
}

int call_find_services(struct call *call, struct param_strs names, struct engine_set *ret_set)
{
    struct err err;

    if (project_find(call->project, names, &call->arena, ret_set, &err) == 0)
        return 0;
    if (loading_is_stale(call))
        call_refuse(call, MESSAGE_ERROR,
                    "%s; the file has changed since it was loaded: 'kepler apply' reads it again",
                    err.text);
    else
        call_fail(call, &err);
    return -1;
}

int call_find_loaded(struct call *call, const char *path, struct param_strs names)
{
    if (call_find_project(call, path) < 0)
        return -1;
    if (call->project)
        return call_find_services(call, names, &call->set);
    call_refuse(call, MESSAGE_UNKNOWN, "'%s' is not loaded: start it first", path);
    return -1;
}

/* --- watching ----------------------------------------------------------------------------- */

static void put_reply_value(struct arena *arena, struct value_map *map, const char *key,
                            struct value v)
{
    value_map_set(arena, map, value_text(key), v);
}

static void send_status_event(struct call *call, const struct service *service)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value_map *map = value_map_new(&arena, 4);

    put_reply_value(&arena, map, "service", value_text(service->config->name));
    put_reply_value(&arena, map, "status", value_text(status_name(service_status(service))));
    put_reply_value(&arena, map, "reason", value_text(buf_text(&service->reason)));
    put_reply_value(&arena, map, "check", value_bool(service->plan.check.given));
    call_event(call, "progress", value_map(map));
}

/* The part of the cause that goes beyond the reason; "": none. */
static const char *failure_detail(const struct service *service)
{
    const struct str reason = buf_view(&service->reason), cause = buf_view(&service->cause);

    if (reason.n == 0 || !str_starts(cause, reason) || cause.n <= reason.n + strlen("; "))
        return "";
    return cause.p + reason.n + strlen("; ");
}

static void report_call_failure(struct call *call, const struct service *service)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value v = state_file_service_value(&arena, &service->record, buf_text(&service->reason));

    put_reply_value(&arena, v.map, "service", value_text(service->config->name));
    put_reply_value(&arena, v.map, "detail", value_text(failure_detail(service)));
    call_event(call, "failure", v);
}

/* The named services and all their dependencies, direct or not. */
static const struct reach *find_concerned(struct call *call)
{
    const struct config *config = call->project->config;
    struct reach *concerned = reach_new(&call->arena, config->service_count);

    for (size_t i = 0; i < call->set.count; i++)
        (void)reach_add(concerned, call->set.services[i]);
    reach_extend(concerned, config->graph, DAG_REVERSE, DAG_ALL_TYPES);
    return concerned;
}

static bool is_concerned(const struct call *call, uint32_t index)
{
    return !call->concerned || reach_has(call->concerned, index);
}

static bool is_call_target(const struct call *call, uint32_t index)
{
    for (size_t i = 0; i < call->set.count; i++)
        if (call->set.services[i] == index)
            return true;
    return call->set.count == 0;
}

/* Services that are about to start will report themselves. A failure before a requested restart of
 * others is not theirs. */
void call_watch(struct call *call)
{
    bool replay = call->kind != REQUEST_RESTART;

    call->watching = true;
    if (call->set.count > 0)
        call->concerned = find_concerned(call);
    for (uint32_t i = 0; i < call->project->config->service_count; i++) {
        const struct service *service = engine_get(call->project->engine, i);

        if (!is_concerned(call, i) ||
            (!status_is_active(service_status(service)) && is_call_target(call, i)))
            continue;
        send_status_event(call, service);
        if (replay && readiness_is_unhandled(service))
            report_call_failure(call, service);
    }
}

/* A call for services that are all gone ends like one whose config was unloaded. */
void call_renumber(struct call *call, const uint32_t *numbers)
{
    uint32_t *services = ARENA_ARRAY(&call->arena, uint32_t, call->set.count + 1);
    const size_t named = call->set.count - call->set.needs;
    struct engine_set set = { services, 0, 0 };

    for (size_t i = 0; i < call->set.count; i++) {
        uint32_t number = numbers[call->set.services[i]];

        if (number == ENGINE_GONE)
            continue;
        services[set.count++] = number;
        set.needs += i >= named;
    }
    if (call->set.count > 0 && set.count == 0) {
        call->project = NULL;
        call->orphaned = !call->stream || stream_follows(call->stream);
        return;
    }
    call->set = set;
    if (call->concerned)
        call->concerned = find_concerned(call);
}

static void report_call_hook(struct call *call, const struct engine_event *event, const char *what)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value_map *map = value_map_new(&arena, 4);

    put_reply_value(&arena, map, "service", value_text(event->name));
    put_reply_value(&arena, map, "hook", value_text(hook_phase_name(event->phase)));
    put_reply_value(&arena, map, "what", value_text(what));
    put_reply_value(&arena, map, "reason", value_text(event->reason));
    call_event(call, "hook", value_map(map));
}

void call_engine_event(struct call *call, const struct engine_event *event)
{
    static const char *const hooks[] = { [EVENT_HOOK_STARTED] = "started",
                                         [EVENT_HOOK_COMPLETED] = "completed",
                                         [EVENT_HOOK_FAILED] = "failed" };
    const struct service *service = engine_get(call->project->engine, event->service);

    if (call->progress && event->kind == EVENT_STATUS)
        send_status_event(call, service);
    if (!call->watching || !is_concerned(call, event->service))
        return;
    switch (event->kind) {
    case EVENT_STATUS: send_status_event(call, service); return;
    case EVENT_HOOK_STARTED:
    case EVENT_HOOK_COMPLETED:
    case EVENT_HOOK_FAILED: report_call_hook(call, event, hooks[event->kind]); return;
    case EVENT_UNHANDLED_FAILURE: report_call_failure(call, service); return;
    case EVENT_CLEAR_LOGS:
    case EVENT_CLEANED:
    case EVENT_SETTLED: return;
    }
}

/* Send all output before the end. Services that 'apply' has stopped are about to start again. */
static void send_settled_events(struct call *call)
{
    struct engine *engine = call->project->engine;

    if (call->project->changing)
        return;
    if (!call->told_ready && readiness_is_ready(engine, call->set)) {
        call->told_ready = true;
        project_save_told(call->project);
        call_event(call, "ready", value_null());
    }
    if (call->told_quiet)
        return;
    if (!readiness_is_quiescent(engine)) {
        call->ticket = 0;
        return;
    }
    if (call->stream && call->ticket == 0)
        call->ticket = capture_flush(&call->project->capture);
    if (!capture_is_flushed(&call->project->capture, call->ticket))
        return; /* stepped again when that is done */
    call_pump(call);
    if (call->stream && stream_has_more(call->stream))
        return; /* stepped again when that is sent */
    call->told_quiet = true;
    project_save_told(call->project);
    call_event(call, "quiescent", value_null());
}

void call_look(struct call *call)
{
    bool orphaned = call->orphaned;

    call->orphaned = false;
    if (call->step) {
        call->step(call);
        return;
    }
    if (orphaned) {
        call_event(call, "quiescent", value_null());
        call_say(call, "the config was unloaded");
        return;
    }
    if (call->watching)
        send_settled_events(call);
}

void call_pump(struct call *call)
{
    if (call->stream && call->client)
        stream_pump(call->stream);
}

void call_drain(struct call *call)
{
    if (call->stream && call->client)
        stream_drain(call->stream);
}

void call_streamed(struct call *call)
{
    const struct err *err = stream_error(call->stream);

    if (call->project)
        call->project->settled = true; /* its end may have waited for its lines */
    if (err && call->watching)
        log_warning("logs cannot be read error=%s", err->text);
    else if (err)
        call_fail(call, err);
    else if (stream_is_done(call->stream) && !call->watching)
        call_finish(call, value_null());
    else
        call_pump(call);
}
