#include "kepler/daemon/authorizer_run.h"

#include <stdlib.h>
#include <string.h>

#include "kepler/access/acl.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/vec.h"
#include "kepler/config/authorizer.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/daemon.h"
#include "kepler/daemon/project.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"

/* All authorizers of one call. */
#define TIME_MAX (5 * CLOCK_SECOND)

/* --- the request ------------------------------------------------------------------------------ */

static void put_strs(struct call *call, struct value_map *map, const char *key,
                     struct param_strs strs)
{
    struct value_list *list = value_list_new(&call->arena, strs.n);

    for (size_t i = 0; i < strs.n; i++)
        value_list_push(&call->arena, list, value_text(strs.p[i]));
    value_map_set(&call->arena, map, value_text(key), value_list(list));
}

static void put_request_value(struct call *call, struct value_map *map, const char *key,
                              struct value v)
{
    value_map_set(&call->arena, map, value_text(key), v);
}

static void put_request_text(struct call *call, struct value_map *map, const char *key,
                             const char *text)
{
    if (text)
        put_request_value(call, map, key, value_text(text));
}

/* All that may be started: what the named services need counts as named. Not known before the
 * config is loaded: none, which means all. */
static struct param_strs find_started(struct call *call)
{
    const struct request_start *start = call->args;
    const struct project *project = daemon_find(call->daemon, start->config);
    struct engine_set set;
    const char **names;
    struct err unknown;

    if (!start->needs || start->services.n == 0)
        return start->services;
    if (!project || project_find(project, start->services, &call->arena, &set, &unknown) < 0)
        return (struct param_strs){ 0 };
    set = engine_with_needs(project->engine, set, &call->arena);
    names = ARENA_ARRAY(&call->arena, const char *, set.count);
    for (size_t i = 0; i < set.count; i++)
        names[i] = engine_get(project->engine, set.services[i])->config->name;
    return (struct param_strs){ set.count, names };
}

static void put_start(struct call *call, struct value_map *map)
{
    const struct request_start *start = call->args;

    put_strs(call, map, "services", find_started(call));
    put_request_value(call, map, "no_deps", value_bool(start->no_deps));
    put_request_value(call, map, "start_clean", value_bool(start->start_clean));
    put_request_value(
        call, map, "override_envs",
        value_bool(start->refresh_env || start->overrides.n > 0 || start->flags.n > 0));
    put_request_text(call, map, "hardening", start->hardening);
}

static void put_ask(struct call *call, struct value_map *map)
{
    const struct request_ask *ask = call->args;

    put_strs(call, map, "services", ask->services);
    put_request_text(call, map, "service", ask->services.n > 0 ? ask->services.p[0] : NULL);
    put_request_value(call, map, "include_services", value_bool(ask->with_services));
    put_request_value(call, map, "include_environment", value_bool(ask->with_environment));
    put_request_value(call, map, "include_flags", value_bool(ask->with_flags));
}

static void put_stop(struct call *call, struct value_map *map)
{
    const struct request_stop *stop = call->args;

    put_strs(call, map, "services", stop->services);
    put_request_value(call, map, "clean", value_bool(stop->clean));
    put_request_text(call, map, "signal", stop->signal);
}

static void put_logs(struct call *call, struct value_map *map)
{
    const struct request_logs *logs = call->args;

    put_strs(call, map, "services", logs->services);
    put_request_text(call, map, "service", logs->services.n > 0 ? logs->services.p[0] : NULL);
    put_request_text(call, map, "filter", logs->query);
}

static void put_metrics(struct call *call, struct value_map *map)
{
    const struct request_metrics *metrics = call->args;

    put_strs(call, map, "services", metrics->services);
    put_request_text(call, map, "service", metrics->services.n > 0 ? metrics->services.p[0] : NULL);
    put_request_text(call, map, "filter", metrics->query);
}

static void put_wait(struct call *call, struct value_map *map)
{
    const struct request_wait *wait = call->args;

    put_strs(call, map, "services", wait->services);
}

/* The `request` that authorizers see. */
static struct value make_request_value(struct call *call)
{
    static void (*const put[REQUEST_KINDS])(struct call * call, struct value_map * map) = {
        [REQUEST_LIST] = put_ask,        [REQUEST_STATUS] = put_ask, [REQUEST_START] = put_start,
        [REQUEST_RUN] = put_start,       [REQUEST_STOP] = put_stop,  [REQUEST_RESTART] = put_start,
        [REQUEST_RECREATE] = put_start,  [REQUEST_LOGS] = put_logs,  [REQUEST_INSPECT] = put_ask,
        [REQUEST_METRICS] = put_metrics, [REQUEST_RELOAD] = put_ask, [REQUEST_EVENTS] = put_ask,
        [REQUEST_WHY] = put_ask,         [REQUEST_WAIT] = put_wait,
    };
    struct value_map *map = value_map_new(&call->arena, 2);
    struct value_map *params = value_map_new(&call->arena, 8);

    if (put[call->kind])
        put[call->kind](call, params);
    put_request_text(call, map, "action", request_get(call->kind)->record.name);
    put_request_value(call, map, "params", value_map(params));
    return value_map(map);
}

/* The `caller` that authorizers see. */
static struct value make_caller_value(struct call *call)
{
    const struct acl_caller *caller = &call->caller;
    struct value_map *map = value_map_new(&call->arena, 5);
    struct value_list *groups = value_list_new(&call->arena, caller->groups.n);

    VEC_EACH (&caller->groups, group)
        value_list_push(
            &call->arena, groups,
            value_text(group->name ? group->name : arena_printf(&call->arena, "%u", group->gid)));
    put_request_value(call, map, "uid", value_int(caller->uid));
    put_request_value(call, map, "gid", value_int(caller->gid));
    put_request_text(call, map, "username", caller->name);
    put_request_value(call, map, "groups", value_list(groups));
    put_request_value(call, map, "token", value_bool(caller->kind == ACL_TOKEN));
    return value_map(map);
}

/* --- the result ------------------------------------------------------------------------------- */

struct question {
    struct value code, lua;
    bool has_lua;
};

/* The result of one config's authorizers. */
struct authorizer_decision {
    const char *path;
    uint64_t serial;
    VEC(struct question) questions;
    bool agrees;
    bool failed, slow;
    struct err err;
};

/* Between background_task_begin and `done`, all but `call` belongs to the worker. */
struct authorizer_run {
    struct background_task background_task;
    struct call *call; /* NULL: it has ended */
    authorizer_run_fn *heard;
    struct arena arena;
    struct value request, caller;
    VEC(struct authorizer_decision) decisions;
    uid_t uid;
    bool done;
};

static void drop_authorizer_run(struct authorizer_run *authorizer_run)
{
    arena_done(&authorizer_run->arena);
    free(authorizer_run);
}

void authorizer_run_free(struct authorizer_run *authorizer_run)
{
    if (!authorizer_run)
        return;
    if (authorizer_run->done)
        drop_authorizer_run(authorizer_run);
    else
        authorizer_run->call = NULL;
}

static struct authorizer_run *ensure_authorizer_run(struct call *call)
{
    if (!call->authorizer_run) {
        call->authorizer_run = mem_zalloc(sizeof(*call->authorizer_run));
        call->authorizer_run->call = call;
        call->authorizer_run->uid = call->caller.uid;
    }
    return call->authorizer_run;
}

/* Copies all input of the worker: config and call may be freed meanwhile. */
void authorizer_run_add(struct call *call, const struct authorizer_run_config *config,
                        const struct acl_verdict *verdict)
{
    struct authorizer_run *authorizer_run = ensure_authorizer_run(call);
    struct arena *arena = &authorizer_run->arena;
    struct authorizer_decision decision = { .path = arena_strdup(arena, config->path),
                                            .serial = config->serial };

    VEC_EACH (&verdict->authorizers, one) {
        struct question question = { .code = value_copy(arena, one->code),
                                     .has_lua = one->lua != NULL };

        if (one->lua)
            question.lua = value_copy(arena, one->lua);
        VEC_PUSH_IN(arena, &decision.questions, question);
    }
    VEC_PUSH_IN(arena, &authorizer_run->decisions, decision);
}

size_t authorizer_run_count(const struct call *call)
{
    return call->authorizer_run ? call->authorizer_run->decisions.n : 0;
}

enum authorizer_run_answer authorizer_run_answer(const struct call *call,
                                                 const struct authorizer_run_config *config)
{
    if (call->authorizer_run && call->authorizer_run->done)
        VEC_EACH (&call->authorizer_run->decisions, decision)
            if (decision->serial == config->serial && strcmp(decision->path, config->path) == 0)
                return decision->agrees ? AUTHORIZER_RUN_AGREES : AUTHORIZER_RUN_REFUSES;
    return AUTHORIZER_RUN_NONE;
}

static void run_config_authorizers(struct authorizer_run *authorizer_run,
                                   struct authorizer_decision *decision)
{
    decision->agrees = true;
    VEC_EACH (&decision->questions, one) {
        const struct authorizer_question question = { .code = &one->code,
                                                      .lua = one->has_lua ? &one->lua : NULL,
                                                      .request = &authorizer_run->request,
                                                      .caller = &authorizer_run->caller };
        int64_t begun = clock_real();
        bool agrees = false;

        decision->failed = authorizer_ask(&question, &agrees, &decision->err) < 0;
        decision->slow = decision->slow || clock_real() - begun > AUTHORIZER_TIME_SLOW;
        decision->agrees = agrees && !decision->failed;
        if (!decision->agrees)
            return;
    }
}

/* Requests that run out of time are refused. */
static void run_authorizers(struct background_task *background_task)
{
    struct authorizer_run *authorizer_run =
        container_of(background_task, struct authorizer_run, background_task);
    int64_t end = clock_after(clock_real(), TIME_MAX);

    VEC_EACH (&authorizer_run->decisions, decision)
        if (clock_real() < end)
            run_config_authorizers(authorizer_run, decision);
}

/* The error text is for the owner, and may reveal more than the caller may know. */
static void log_decision(const struct authorizer_run *authorizer_run,
                         const struct authorizer_decision *decision)
{
    if (decision->failed)
        log_warning("authorizer failed: refused config=%s uid=%u error=%s", decision->path,
                    authorizer_run->uid, decision->err.text);
    else if (!decision->agrees)
        log_info("authorizer refused config=%s uid=%u", decision->path, authorizer_run->uid);
    if (decision->slow)
        log_warning("authorizer took more than %lld ms config=%s",
                    (long long)(AUTHORIZER_TIME_SLOW / CLOCK_MS), decision->path);
}

static void on_authorizers_done(struct background_task *background_task)
{
    struct authorizer_run *authorizer_run =
        container_of(background_task, struct authorizer_run, background_task);

    authorizer_run->done = true;
    VEC_EACH (&authorizer_run->decisions, decision)
        log_decision(authorizer_run, decision);
    if (authorizer_run->call)
        authorizer_run->heard(authorizer_run->call);
    else
        drop_authorizer_run(authorizer_run);
}

static size_t count_authorizer_runs(const struct call *call)
{
    size_t count = 0;

    for (const struct call *other = call->daemon->calls; other; other = other->next)
        count += other->authorizer_run && !other->authorizer_run->done &&
                 other->caller.uid == call->caller.uid;
    return count;
}

void authorizer_run_begin(struct call *call, authorizer_run_fn *heard)
{
    struct authorizer_run *authorizer_run = call->authorizer_run;

    if (count_authorizer_runs(call) > AUTHORIZER_RUN_MAX) {
        authorizer_run->done = true;
        call_refuse(call, MESSAGE_ERROR,
                    "%d of your requests are waiting for authorizers: try again",
                    AUTHORIZER_RUN_MAX);
        return;
    }
    authorizer_run->heard = heard;
    authorizer_run->request = make_request_value(call);
    authorizer_run->request = value_copy(&authorizer_run->arena, &authorizer_run->request);
    authorizer_run->caller = make_caller_value(call);
    authorizer_run->caller = value_copy(&authorizer_run->arena, &authorizer_run->caller);
    background_task_begin(&call->daemon->judges, &authorizer_run->background_task, run_authorizers,
                          on_authorizers_done);
}
