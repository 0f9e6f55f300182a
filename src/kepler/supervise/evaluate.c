#include "kepler/supervise/evaluate.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/diag.h"
#include "core/base/err.h"
#include "kepler/config/environment.h"
#include "kepler/config/resolve.h"
#include "kepler/engine/engine.h"
#include "language/lua/expr.h"
#include "kepler/supervise/real_service.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"

/* A Lua state for all services of one start. Only the loop counts references. */
struct shared_resolver {
    struct resolver *resolver;
    size_t users;
};

enum kind { EVALUATE_SERVICE, EVALUATE_STEP, EVALUATE_OUTPUTS };

/* One evaluation, from request to answer. Between background_task_begin and its end, all but `own`,
 * `next` and `dropped` belongs to the worker. */
struct evaluation {
    struct background_task background_task;
    struct real_service *own; /* NULL: the world has ended */
    struct evaluation *next;
    bool at_work;
    bool dropped; /* it was answered already */
    atomic_bool canceled;

    enum kind kind;
    const struct config *config;
    struct config_service service;
    struct shared_resolver *shared; /* NULL: its own state */
    struct arena input;             /* for copies */
    struct resolve_context context;
    const struct config_step *config_step;
    const struct value *process;
    bool launched; /* `launch` is that of the last start */
    struct launch launch;

    struct arena arena; /* for results */
    struct launch_step step;
    struct value outputs;
    struct world_plan plan;
    int result;
    struct err err;
};

/* --- detecting expressions -------------------------------------------------------------------- */

static bool is_value_computed(const struct value *v)
{
    return v && expr_is_dynamic(v);
}

static bool has_expressions(const struct config_program *program)
{
    const struct value *fields[] = { program->command,     program->run,
                                     program->user,        program->groups,
                                     program->working_dir, program->env_file,
                                     program->environment, program->limits.computed };

    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (is_value_computed(fields[i]))
            return true;
    return false;
}

static bool is_service_computed(const struct config_service *service)
{
    return is_value_computed(service->condition) || has_expressions(&service->program) ||
           service->health.computed || has_expressions(&service->health.program) ||
           service->restart.computed || service->logs_computed || service->output_computed;
}

/* --- shared states ---------------------------------------------------------------------------- */

static void release_shared(struct shared_resolver *shared)
{
    if (!shared || --shared->users > 0)
        return;
    resolver_free(shared->resolver);
    free(shared);
}

void evaluate_begin(struct real_world *real)
{
    release_shared(real->shared);
    real->shared = mem_zalloc(sizeof(*real->shared));
    *real->shared =
        (struct shared_resolver){ .resolver = resolver_new(real->options.config), .users = 1 };
}

/* --- the variables of expressions ------------------------------------------------------------- */

static struct resolve_facts make_resolve_facts(struct real_service *own)
{
    struct engine *engine = own->real->world.events.self;
    const struct service_record *record = &engine_get(engine, own->index)->record;

    return (struct resolve_facts){ .name = own->config->name,
                                   .status = record->status,
                                   .has_exit_code = record->has_exit_code,
                                   .exit_code = record->exit_code,
                                   .initialized = record->initialized,
                                   .restart_count = record->restarts,
                                   .restart_count_since_healthy = record->restarts_since_healthy,
                                   .env = own->launched ? own->launch.full_env : NULL,
                                   .outputs = &own->outputs };
}

static struct resolve_context find_context(struct real_service *own, struct arena *arena)
{
    struct real_world *real = own->real;
    size_t count = own->config->edge_count;
    struct resolve_facts *deps = ARENA_ARRAY(arena, struct resolve_facts, count);

    for (size_t i = 0; i < count; i++)
        deps[i] = make_resolve_facts(real->services[own->config->edges[i].service]);
    return (struct resolve_context){ .kepler_env = real->env,
                                     .flags = real->flags,
                                     .env_files = real->options.env_files,
                                     .self = make_resolve_facts(own),
                                     .deps = deps,
                                     .dep_count = count,
                                     .hooks = own->hooks.map->count > 0 ? &own->hooks : NULL };
}

static const struct value *copy_known_value(struct arena *arena, const struct value *v)
{
    struct value *copy = v ? ARENA_NEW(arena, struct value) : NULL;

    if (copy)
        *copy = value_copy(arena, v);
    return copy;
}

static const struct environment *copy_env(struct arena *arena, const struct environment *env)
{
    return env ? environment_copy(arena, env) : NULL;
}

static void copy_resolve_facts(struct arena *arena, struct resolve_facts *facts)
{
    facts->env = copy_env(arena, facts->env);
    facts->outputs = copy_known_value(arena, facts->outputs);
}

/* Copies of data that the loop may change or free while a worker uses it. */
static void copy_context(struct arena *arena, struct resolve_context *context)
{
    struct resolve_facts *deps = ARENA_ARRAY(arena, struct resolve_facts, context->dep_count);

    for (size_t i = 0; i < context->dep_count; i++) {
        deps[i] = context->deps[i];
        copy_resolve_facts(arena, &deps[i]);
    }
    context->deps = deps;
    copy_resolve_facts(arena, &context->self);
    context->kepler_env = copy_env(arena, context->kepler_env);
    context->flags = copy_known_value(arena, context->flags);
    context->hooks = copy_known_value(arena, context->hooks);
}

/* The service as its step sees it: during a stop, whether it still runs or how it ended. */
static enum status find_step_status(enum hook_phase phase, const struct service_record *record)
{
    if (record->status != STATUS_STOPPING)
        return record->status;
    switch (phase) {
    case HOOK_PRE_STOP: return STATUS_RUNNING;
    case HOOK_POST_STOP: return STATUS_STOPPED;
    case HOOK_POST_EXIT: return record->signal ? STATUS_KILLED : STATUS_EXITED;
    default: return record->status;
    }
}

/* --- resolving -------------------------------------------------------------------------------- */

/* Hooks of a service that was not started here (pre_cleanup after a daemon restart) need its
 * environment first; its `if` is not evaluated. */
static int need_launch(struct evaluation *ev, struct resolver *resolver, struct diags *diags)
{
    struct config_service service = ev->service;

    if (ev->launched)
        return 0;
    service.condition = NULL;
    return resolve_service(resolver, &service, &ev->context, &ev->arena, &ev->launch, diags);
}

static int resolve_kind(struct evaluation *ev, struct resolver *resolver, struct diags *diags)
{
    switch (ev->kind) {
    case EVALUATE_SERVICE:
        return resolve_service(resolver, &ev->service, &ev->context, &ev->arena, &ev->launch,
                               diags);
    case EVALUATE_STEP:
        if (need_launch(ev, resolver, diags) < 0)
            return -1;
        return resolve_step(resolver, &ev->service, ev->config_step, &ev->launch, &ev->context,
                            &ev->arena, &ev->step, diags);
    case EVALUATE_OUTPUTS:
        return resolve_outputs(resolver, &ev->service, ev->process, &ev->launch, &ev->context,
                               &ev->arena, &ev->outputs, diags);
    }
    return -1;
}

static void run_evaluation(struct evaluation *ev)
{
    AUTO_ARENA struct arena mistakes = ARENA_INIT;
    struct diags diags = { .arena = &mistakes };
    struct resolver *resolver = ev->shared ? ev->shared->resolver : resolver_new(ev->config);

    resolver_set_cancel(resolver, &ev->canceled);
    ev->result = resolve_kind(ev, resolver, &diags);
    if (ev->result < 0)
        (void)diags_to_err(&diags, &ev->err);
    resolver_set_cancel(resolver, NULL);
    if (!ev->shared)
        resolver_free(resolver);
}

/* --- results ---------------------------------------------------------------------------------- */

static void fill_plan(const struct launch *launch, struct world_plan *plan)
{
    plan->skip = launch->skipped;
    plan->reason = launch->reason;
    if (launch->skipped)
        return;
    plan->policy = launch->policy;
    plan->check =
        (struct world_check){ launch->health.given, launch->health.interval, launch->health.timeout,
                              launch->health.start_period, launch->health.retries };
    plan->logs = launch->logs;
    plan->has_watch = launch->watch.n > 0;
}

/* The results move to the service, with their arena. */
static void keep_launch(struct evaluation *ev)
{
    struct real_service *own = ev->own;

    arena_done(&own->arena);
    own->arena = ev->arena;
    ev->arena = (struct arena)ARENA_INIT;
    own->launch = ev->launch;
    own->launched = !ev->launch.skipped;
}

/* A launch made for the step shares its arena. */
static void keep_evaluated_step(struct evaluation *ev)
{
    struct real_service *own = ev->own;

    own->step = ev->step;
    own->tags[JOB_HOOK].phase = ev->context.phase;
    if (!ev->launched) {
        keep_launch(ev);
        return;
    }
    arena_done(&own->step_arena);
    own->step_arena = ev->arena;
    ev->arena = (struct arena)ARENA_INIT;
}

/* Takes over the result, if any. */
static void keep_evaluation_result(struct evaluation *ev)
{
    if (ev->result < 0)
        return;
    switch (ev->kind) {
    case EVALUATE_SERVICE:
        keep_launch(ev);
        fill_plan(&ev->own->launch, &ev->plan);
        return;
    case EVALUATE_STEP: keep_evaluated_step(ev); return;
    case EVALUATE_OUTPUTS:
        ev->result = real_service_store(ev->own, &ev->outputs, ev->process, &ev->err);
        return;
    }
}

static struct world_step make_world_step(const struct launch_step *step)
{
    return (struct world_step){ step->run, step->clears_failure, step->warning, step->timeout };
}

static void free_evaluation(struct evaluation *ev)
{
    release_shared(ev->shared);
    arena_done(&ev->input);
    arena_done(&ev->arena);
    free(ev);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void send_world_answer(struct real_service *own, enum kind kind, const struct evaluation *ev,
                              const struct err *err)
{
    const struct world_events *events = &own->real->world.events;
    struct world_step step = { 0 };

    switch (kind) {
    case EVALUATE_SERVICE:
        events->resolved(events->self, own->index, err ? NULL : &ev->plan, err);
        return;
    case EVALUATE_STEP:
        if (!err)
            step = make_world_step(&ev->step);
        events->step_prepared(events->self, own->index, &step, err);
        return;
    case EVALUATE_OUTPUTS: events->outputs_kept(events->self, own->index, err); return;
    }
}

static void begin_first(struct real_world *real);

static void on_evaluation_done(struct background_task *background_task)
{
    struct evaluation *ev = container_of(background_task, struct evaluation, background_task);
    struct real_service *own = ev->own;
    struct real_world *real = own ? own->real : NULL;

    if (!own) {
        free_evaluation(ev);
        return;
    }
    real->first = ev->next;
    if (!real->first)
        real->last = &real->first;
    own->evaluations--;
    if (!ev->dropped) {
        own->evaluation = NULL;
        keep_evaluation_result(ev);
        send_world_answer(own, ev->kind, ev, ev->result < 0 ? &ev->err : NULL);
    }
    free_evaluation(ev);
    begin_first(real);
}

static void work_on_evaluation(struct background_task *background_task)
{
    run_evaluation(container_of(background_task, struct evaluation, background_task));
}

static void begin_first(struct real_world *real)
{
    if (!real->first || real->first->at_work)
        return;
    real->first->at_work = true;
    background_task_begin(real->options.background_tasks, &real->first->background_task,
                          work_on_evaluation, on_evaluation_done);
}

/* --- questions -------------------------------------------------------------------------------- */

static struct evaluation *new_evaluation(struct real_service *own, enum kind kind)
{
    struct evaluation *ev = mem_zalloc(sizeof(*ev));

    ev->own = own;
    ev->kind = kind;
    ev->config = own->real->options.config;
    ev->service = *own->config;
    ev->context = find_context(own, &ev->input);
    ev->launched = own->launched;
    if (own->launched)
        ev->launch = own->launch;
    return ev;
}

/* A worker that uses the launch of the service prevents its replacement. */
static bool may_wait(const struct real_service *own, bool computed)
{
    return own->real->options.background_tasks && (computed || own->evaluations > 0);
}

static enum world_answer queue_evaluation(struct evaluation *ev)
{
    struct real_world *real = ev->own->real;

    copy_context(&ev->input, &ev->context);
    ev->process = copy_known_value(&ev->input, ev->process);
    ev->own->evaluation = ev;
    ev->own->evaluations++;
    *real->last = ev;
    real->last = &ev->next;
    begin_first(real);
    return WORLD_LATER;
}

/* Synchronously; the evaluation must still be freed. */
static enum world_answer resolve_now(struct evaluation *ev, struct err *err)
{
    run_evaluation(ev);
    keep_evaluation_result(ev);
    if (ev->result == 0)
        return WORLD_DONE;
    *err = ev->err;
    return WORLD_NO;
}

enum world_answer evaluate_service(struct real_service *own, unsigned flags,
                                   struct world_plan *plan, struct err *err)
{
    struct evaluation *ev = new_evaluation(own, EVALUATE_SERVICE);
    enum world_answer result;

    ev->plan = *plan;
    if (flags & WORLD_IGNORE_IF)
        ev->service.condition = NULL;
    /* A worker may be using the shared state: evaluations that need none avoid it. */
    if (own->computed && own->real->shared && !(flags & WORLD_RESTART)) {
        ev->shared = own->real->shared;
        ev->shared->users++;
    }
    if (may_wait(own, own->computed))
        return queue_evaluation(ev);
    result = resolve_now(ev, err);
    *plan = ev->plan;
    free_evaluation(ev);
    return result;
}

enum world_answer evaluate_step(struct real_service *own, enum hook_phase phase, size_t step,
                                bool failed, struct world_step *ret_step, struct err *err)
{
    const struct config_step *config = &own->config->hooks[phase].p[step];
    struct engine *engine = own->real->world.events.self;
    struct evaluation *ev = new_evaluation(own, EVALUATE_STEP);
    enum world_answer result;

    ev->config_step = config;
    ev->context.in_hook = true;
    ev->context.phase = phase;
    ev->context.self.status = find_step_status(phase, &engine_get(engine, own->index)->record);
    ev->context.had_failure = failed;
    if (may_wait(own, is_value_computed(config->condition) || has_expressions(&config->program) ||
                          (!own->launched && own->computed)))
        return queue_evaluation(ev);
    result = resolve_now(ev, err);
    if (result == WORLD_DONE)
        *ret_step = make_world_step(&ev->step);
    free_evaluation(ev);
    return result;
}

enum world_answer evaluate_outputs(struct real_service *own, struct err *err)
{
    struct evaluation *ev = new_evaluation(own, EVALUATE_OUTPUTS);
    enum world_answer result = WORLD_DONE;

    ev->process = real_service_captured(own, &ev->input);
    if (!ev->process && !own->config->outputs) {
        free_evaluation(ev);
        return WORLD_DONE;
    }
    if (may_wait(own, is_value_computed(own->config->outputs)))
        return queue_evaluation(ev);
    result = resolve_now(ev, err);
    free_evaluation(ev);
    return result;
}

/* --- ends ------------------------------------------------------------------------------------- */

static void on_canceled(struct timer *timer)
{
    struct real_service *own = container_of(timer, struct real_service, canceled);
    struct err err;

    (void)err_set(&err, ERR_CANCELED, "canceled");
    send_world_answer(own, (enum kind)own->canceled_kind, NULL, &err);
}

static void remove_waiting(struct real_world *real, struct evaluation *ev)
{
    struct evaluation **place = &real->first;

    while (*place != ev)
        place = &(*place)->next;
    *place = ev->next;
    if (!ev->next)
        real->last = place;
    ev->own->evaluations--;
    free_evaluation(ev);
}

void evaluate_cancel(struct real_service *own)
{
    struct evaluation *ev = own->evaluation;

    if (!ev)
        return;
    own->evaluation = NULL;
    own->canceled_kind = ev->kind;
    timer_set(own->real->world.timers, &own->canceled, clock_now(), on_canceled);
    atomic_store(&ev->canceled, true);
    if (ev->at_work)
        ev->dropped = true;
    else
        remove_waiting(own->real, ev);
}

void evaluate_init(struct real_world *real)
{
    real->last = &real->first;
}

void evaluate_init_service(struct real_service *own)
{
    own->computed = is_service_computed(own->config);
}

void evaluate_done(struct real_world *real)
{
    struct evaluation *ev = real->first;

    for (uint32_t i = 0; i < real->options.config->service_count; i++)
        timer_clear(real->world.timers, &real->services[i]->canceled);
    VEC_EACH (&real->past, own)
        timer_clear(real->world.timers, &(*own)->canceled);
    if (ev && ev->at_work) {
        atomic_store(&ev->canceled, true);
        background_task_wait(&ev->background_task);
        ev->own = NULL; /* freed when the loop gets the result */
        release_shared(ev->shared);
        ev->shared = NULL;
        ev = ev->next;
    }
    while (ev) {
        struct evaluation *next = ev->next;

        free_evaluation(ev);
        ev = next;
    }
    real->first = NULL;
    real->last = &real->first;
    release_shared(real->shared);
    real->shared = NULL;
}
