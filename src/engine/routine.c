#include "engine/routine.h"

#include <signal.h>

#include "base/err.h"
#include "engine/edge.h"
#include "engine/engine.h"
#include "engine/readiness.h"
#include "engine/service.h"
#include "sys/clock.h"

/* A restart that could not even make a process is not tried again sooner than this. */
#define SPAWN_RETRY_MIN CLOCK_SECOND
/* A crash loop that its limit does not end is not tried again sooner than this. */
#define CRASH_PAUSE_MIN CLOCK_SECOND

enum op_result {
    OP_NEXT,
    OP_WAIT, /* until routine_continue */
    OP_JUMP, /* another routine, or none, has been set */
};

typedef enum op_result op_fn(struct service *service);

struct routine {
    op_fn *const *ops; /* ends in NULL */
};

static const struct routine routine_retry;

static enum op_result set_routine(struct service *service, const struct routine *routine)
{
    service->routine = routine;
    service->at = 0;
    return OP_JUMP;
}

static struct world *world_of(const struct service *service)
{
    return engine_world(service->engine);
}

/* --- ends ----------------------------------------------------------------------------- */

static void clear_logs(struct service *service, enum config_keep keep)
{
    struct event event = { .kind = EVENT_CLEAR_LOGS };

    if (keep == CONFIG_CLEAR)
        engine_tell(service->engine, service, &event);
}

/* Inactive from here on. */
static enum op_result settle_service(struct service *service, enum status status)
{
    struct event event = { .kind = EVENT_UNHANDLED_FAILURE };

    edge_end(service);
    if (status == STATUS_SKIPPED)
        clear_logs(service, service->plan.logs.on_skipped);
    service_enter(service, status);
    if (readiness_is_unhandled(service)) {
        event.reason = buf_text(&service->reason);
        engine_tell(service->engine, service, &event);
    }
    return set_routine(service, NULL);
}

static enum op_result fail_service(struct service *service, const char *why)
{
    service_set_reason(service, "%s", why);
    service_because(service, "%s", why);
    return settle_service(service, STATUS_FAILED);
}

/* --- waiting ---------------------------------------------------------------------------- */

static enum op_result op_waiting(struct service *service)
{
    service_because(service, "start requested%s", buf_text(&service->asked));
    edge_want_all(service, service->no_deps);
    service_enter(service, STATUS_WAITING);
    return OP_NEXT;
}

static enum op_result op_waiting_again(struct service *service)
{
    service_enter(service, STATUS_WAITING);
    return OP_NEXT;
}

/* Judged in engine_step, when all that were asked for at once are on their way. */
static enum op_result op_await(struct service *service)
{
    if (!edge_has_any(service))
        return OP_NEXT;
    edge_begin(service);
    service_changed(service);
    return OP_WAIT;
}

/* Likewise: until no dependent is still going down. */
static enum op_result op_turn(struct service *service)
{
    service_changed(service);
    return OP_WAIT;
}

static void on_pause_over(struct timer *timer)
{
    service_handle(container_of(timer, struct service, pause), EV_PAUSE_OVER);
}

/* Restarts in a window of time; the next window begins with the first one after it. A loop that is
 * only slowed down stays in its window until it has held that long. */
static bool is_over_limit(struct service *service, int64_t now)
{
    const struct config_service *config = service->config;

    if (config->start_limit_count <= 0 || config->start_limit_interval <= 0 ||
        (service->restart_cause != RESTART_POLICY && service->restart_cause != RESTART_UNHEALTHY))
        return false;
    if (service->window_count == 0 || now - service->window_start > config->start_limit_interval) {
        service->window_start = now;
        service->window_count = 0;
    }
    if (service->window_count < config->start_limit_count) {
        service->window_count++;
        return false;
    }
    if (!config->start_limit_ends)
        service->window_start = now;
    return true;
}

static enum op_result fail_at_start_limit(struct service *service)
{
    AUTO_BUF struct buf why = BUF_INIT(SERVICE_REASON_MAX);
    struct str rest = buf_view(&service->cause), cause = str_cut(&rest, ';');
    const int64_t count = service->config->start_limit_count;

    /* without what came of it */
    buf_printf(&why, "start limit reached: restarted %lld time%s within %lld s, last because %.*s",
               (long long)count, count == 1 ? "" : "s",
               (long long)(service->config->start_limit_interval / CLOCK_SECOND), STR_ARG(cause));
    service_recall_run(service); /* whoever waits for its failure may ask for the code */
    return fail_service(service, buf_text(&why));
}

/* The shortest pause that this restart may have. */
static int64_t least_pause(const struct service *service, bool looping)
{
    if (looping)
        return CRASH_PAUSE_MIN;
    return service->spawn_failed ? SPAWN_RETRY_MIN : 0;
}

static enum op_result op_pause(struct service *service)
{
    struct world *world = world_of(service);
    struct service_record *record = &service->record;
    int64_t now = world->ops->now(world);
    int64_t delay = policy_delay(&service->plan.policy, record->restarts_since_healthy);
    bool looping = is_over_limit(service, now);

    if (looping && service->config->start_limit_ends)
        return fail_at_start_limit(service);
    record->restarts++;
    record->restarts_since_healthy++;
    if (service->restart_cause == RESTART_MANUAL)
        return OP_NEXT;
    if (delay < least_pause(service, looping))
        delay = least_pause(service, looping);
    if (delay <= 0)
        return OP_NEXT;
    timer_set(world->timers, &service->pause, clock_after(now, delay), on_pause_over);
    return OP_WAIT;
}

/* --- hooks ------------------------------------------------------------------------------ */

static enum op_result run_hook(struct service *service, enum hook_phase phase)
{
    return hook_begin(service, phase) ? OP_NEXT : OP_WAIT;
}

static enum op_result op_pre_start(struct service *service)
{
    return run_hook(service, HOOK_PRE_START);
}

/* Of all hooks this is the one without which a service does not start. */
static enum op_result op_need_pre_start(struct service *service)
{
    return service->hook.failed ? fail_service(service, buf_text(&service->hook.error)) : OP_NEXT;
}

static enum op_result op_post_start(struct service *service)
{
    return run_hook(service, HOOK_POST_START);
}

static enum op_result op_pre_stop(struct service *service)
{
    return run_hook(service, HOOK_PRE_STOP);
}

static enum op_result op_post_stop(struct service *service)
{
    return run_hook(service, HOOK_POST_STOP);
}

static enum op_result op_pre_restart(struct service *service)
{
    return run_hook(service, HOOK_PRE_RESTART);
}

static enum op_result op_post_restart(struct service *service)
{
    return run_hook(service, HOOK_POST_RESTART);
}

static enum op_result op_post_exit(struct service *service)
{
    return run_hook(service, HOOK_POST_EXIT);
}

static enum op_result op_pre_cleanup(struct service *service)
{
    return run_hook(service, HOOK_PRE_CLEANUP);
}

static enum op_result op_healthy(struct service *service)
{
    return run_hook(service, HOOK_POST_HEALTHCHECK_SUCCESS);
}

static enum op_result op_unhealthy(struct service *service)
{
    return run_hook(service, HOOK_POST_HEALTHCHECK_FAIL);
}

/* --- up --------------------------------------------------------------------------------- */

/* "state highstate succeeded" */
static void because_of_state(struct service *service)
{
    service_because(service, "state %s succeeded", service->decisive_state->config->name);
    service->decisive_state = NULL;
}

static bool was_waiting(const struct service *service)
{
    return service->decisive || service->decisive_state;
}

/* "dependency db met service_healthy" */
static void because_of_service(struct service *service)
{
    const struct service_edge *edge = service->decisive;
    const char *name = edge->target->config->name;
    struct history_link target = service_latest(edge->target);

    if (service_status(edge->target) == STATUS_SKIPPED)
        service_because_of(service, target, "dependency %s was skipped (allow_skipped)", name);
    else if (edge->order)
        service_because_of(service, target, "dependency %s is up again", name);
    else
        service_because_of(service, target, "dependency %s met %s", name,
                           condition_name(edge->config->condition));
    service->decisive = NULL;
}

/* The last of those that were waited for. */
static void because_of_edge(struct service *service, const char *then)
{
    const size_t count = service->edge_count + service->state_count;

    if (service->decisive)
        because_of_service(service);
    else
        because_of_state(service);
    if (count > 1 && !then[0])
        service_because_also(service, ", the last of %zu", count);
    service_because_also(service, "%s", then);
}

static enum op_result op_starting(struct service *service)
{
    if (was_waiting(service))
        because_of_edge(service, "");
    else if (service->edge_count + service->state_count == 0)
        service_because(service, "no dependencies");
    else
        service_because(service, "not waiting for dependencies (--no-deps)");
    service_enter(service, STATUS_STARTING);
    return OP_NEXT;
}

/* By its policy: the cause is how the process ended. */
static enum op_result op_starting_again(struct service *service)
{
    service_enter(service, STATUS_STARTING);
    service->restart = service_latest(service);
    return OP_NEXT;
}

/* What was asked for is known, or the routine waits for it. */
static enum op_result note_answer(struct service *service, enum world_answer answer,
                                  const struct err *err)
{
    service->asking = answer == WORLD_LATER;
    service_set_answer(service, answer == WORLD_NO ? err : NULL);
    return service->asking ? OP_WAIT : OP_NEXT;
}

static enum op_result op_resolve(struct service *service)
{
    struct world *world = world_of(service);
    unsigned flags = (service->ignore_if ? WORLD_IGNORE_IF : 0) |
                     (service->routine == &routine_start ? 0 : WORLD_RESTART);
    struct err err;

    engine_plan(service->config, &service->plan);
    return note_answer(
        service, world->ops->resolve(world, service->index, flags, &service->plan, &err), &err);
}

static enum op_result op_plan(struct service *service)
{
    if (service->answer.n > 0)
        return fail_service(service, buf_text(&service->answer));
    if (!service->plan.skip)
        return OP_NEXT;
    service_set_reason(service, "%s", service->plan.reason);
    service_because(service, "%s", service->plan.reason);
    return settle_service(service, STATUS_SKIPPED);
}

static enum op_result op_clear_outputs(struct service *service)
{
    struct world *world = world_of(service);

    world->ops->outputs_clear(world, service->index);
    return OP_NEXT;
}

static enum op_result op_keep_start(struct service *service)
{
    clear_logs(service, service->plan.logs.on_start);
    return OP_NEXT;
}

static enum op_result op_keep_restart(struct service *service)
{
    clear_logs(service, service->plan.logs.on_restart);
    return OP_NEXT;
}

/* A first start that cannot make a process has failed. A restart is tried again as its policy says,
 * since the program was there before. */
static enum op_result spawn_failed(struct service *service, const char *why)
{
    struct world *world = world_of(service);

    if (service->routine != &routine_retry || !policy_restarts(&service->plan.policy, false))
        return fail_service(service, why);
    world->ops->note(world, service->index, HOOK_PHASES, WORLD_ERROR, why);
    service_because(service, "%s", why);
    service->spawn_failed = true;
    return set_routine(service, &routine_retry);
}

static enum op_result op_spawn(struct service *service)
{
    struct world *world = world_of(service);
    struct service_record *record = &service->record;
    struct err err;

    if (world->ops->spawn(world, service->index, &record->pid, &err) < 0)
        return spawn_failed(service, err.text);
    service->alive = true;
    service->exited = service->spawn_failed = service->start_due = false;
    service->stop_signal = 0;
    record->started_at = world->ops->wall(world);
    record->stopped_at = 0;
    service_forget_run(service);
    return OP_NEXT;
}

static enum op_result op_running(struct service *service)
{
    const char *word = service->routine == &routine_restart || service->routine == &routine_retry
                           ? "restarted"
                           : "started";

    if (was_waiting(service))
        because_of_edge(service, "; ");
    else
        service_because(service, "%s", "");
    service_because_also(service, "process %s", word);
    if (service->record.pid > 0) /* else it has ended meanwhile */
        service_because_also(service, " (pid %d)", (int)service->record.pid);
    service_enter(service, STATUS_RUNNING);
    return OP_NEXT;
}

static enum op_result op_up(struct service *service)
{
    struct world *world = world_of(service);

    service->record.initialized = true;
    if (!service->alive || service->exited)
        return OP_NEXT; /* it is over already: the end of the routine sees to that */
    service->up = true;
    health_begin(service);
    service->files_on = service->plan.has_watch;
    if (service->files_on)
        world->ops->watch_start(world, service->index);
    return OP_NEXT;
}

/* --- down ------------------------------------------------------------------------------- */

static enum op_result op_stopping(struct service *service)
{
    service->leaving = true;
    service_enter(service, STATUS_STOPPING);
    return OP_NEXT;
}

static enum op_result op_restarting(struct service *service)
{
    service->leaving = service->going_down = service->told_restart = true;
    service_enter(service, STATUS_RESTARTING);
    service->restart = service_latest(service);
    return OP_NEXT;
}

static void on_grace_over(struct timer *timer)
{
    service_handle(container_of(timer, struct service, grace), EV_GRACE_OVER);
}

static int64_t grace_of(const struct service *service)
{
    int64_t grace = policy_grace(&service->plan.policy, service->config->stop_grace_period,
                                 service->routine == &routine_restart);

    return grace == 0 && service->stop_signal != 0 ? POLICY_GRACE_DEFAULT : grace;
}

static enum op_result op_terminate(struct service *service)
{
    struct world *world = world_of(service);
    int signo = service->stop_signal ? service->stop_signal : service->config->stop_signal;
    int64_t grace = grace_of(service);

    if (!service->alive)
        return OP_NEXT;
    if (grace <= 0 || signo == SIGKILL) {
        world->ops->kill(world, service->index);
        return OP_WAIT;
    }
    world->ops->signal(world, service->index, signo > 0 ? signo : SIGTERM);
    timer_set(world->timers, &service->grace, clock_after(world->ops->now(world), grace),
              on_grace_over);
    return OP_WAIT;
}

static enum op_result op_stopped(struct service *service)
{
    service->record.restarts = service->record.restarts_since_healthy = 0;
    service->window_count = 0;
    clear_logs(service, service->keep_logs ? CONFIG_RETAIN : service->plan.logs.on_stop);
    return settle_service(service, STATUS_STOPPED);
}

/* The turning point of a restart: it is down, and its dependencies may go. One that was stopped on
 * the way, and perhaps started again, goes through stopped. */
static enum op_result op_turn_round(struct service *service)
{
    service->leaving = service->going_down = false;
    service->stop_signal = 0;
    service_changed(service);
    return service_status(service) == STATUS_STOPPING ? op_stopped(service) : OP_NEXT;
}

/* --- the process ended by itself ---------------------------------------------------------- */

static enum op_result op_leave(struct service *service)
{
    const struct service_record *record = &service->record;
    const struct process_status status = { record->has_exit_code ? record->exit_code : -1,
                                           record->signal };

    service_because(service, "process ended: ");
    process_status_print(status, &service->cause);
    if (service->config->hooks[HOOK_POST_EXIT].n > 0)
        service_enter(service, STATUS_STOPPING);
    return OP_NEXT;
}

static bool ended_well(const struct service *service)
{
    return service->record.has_exit_code && service->record.exit_code == 0;
}

static void tell_policy(struct service *service)
{
    service_because_also(service, "; restart policy: ");
    policy_print(service->plan.policy.flags, &service->cause);
}

static enum op_result op_judge_exit(struct service *service)
{
    const struct config_logs *logs = &service->plan.logs;

    clear_logs(service, ended_well(service) ? logs->on_success : logs->on_failure);
    if (service->goal == GOAL_DOWN)
        return op_stopped(service);
    if (policy_restarts(&service->plan.policy, ended_well(service))) {
        service->restart_cause = RESTART_POLICY;
        service->told_restart = true;
        tell_policy(service);
        return set_routine(service, &routine_retry);
    }
    return OP_NEXT;
}

/* Until the outputs are known it has not ended for those that wait for its end. */
static enum op_result op_keep_outputs(struct service *service)
{
    struct world *world = world_of(service);
    struct err err;
    enum op_result result =
        note_answer(service, world->ops->outputs_keep(world, service->index, &err), &err);

    if (result == OP_WAIT && service_status(service) != STATUS_STOPPING)
        service_enter(service, STATUS_STOPPING);
    return result;
}

static enum op_result op_ended(struct service *service)
{
    struct world *world = world_of(service);

    if (service->answer.n > 0)
        world->ops->note(world, service->index, HOOK_PHASES, WORLD_ERROR,
                         buf_text(&service->answer));
    if (service->goal == GOAL_DOWN)
        return op_stopped(service);
    return settle_service(service, service->record.signal ? STATUS_KILLED : STATUS_EXITED);
}

static enum op_result op_judge_unhealthy(struct service *service)
{
    bool restarts = (service->plan.policy.flags & POLICY_ON_UNHEALTHY) != 0;

    if (!restarts || service->goal == GOAL_DOWN || service->exited)
        return OP_NEXT;
    service->restart_cause = RESTART_UNHEALTHY;
    tell_policy(service);
    return set_routine(service, &routine_restart);
}

static enum op_result op_cleaned(struct service *service)
{
    struct event event = { .kind = EVENT_CLEANED };

    engine_tell(service->engine, service, &event);
    return OP_NEXT;
}

/* --- the routines ---------------------------------------------------------------------------- */

/* clang-format off */
#define ROUTINE(name, ...)                                                                          \
    static op_fn *const name##_ops[] = { __VA_ARGS__, NULL };                                      \
    const struct routine routine_##name = { name##_ops }
/* one that others never begin */
#define OWN_ROUTINE(name, ...)                                                                      \
    static op_fn *const name##_ops[] = { __VA_ARGS__, NULL };                                      \
    static const struct routine routine_##name = { name##_ops }

ROUTINE(start,
       op_waiting, op_await, op_starting, op_resolve, op_plan, op_clear_outputs,
       op_pre_start, op_need_pre_start, op_keep_start,
       op_spawn, op_running, op_post_start, op_up);

ROUTINE(rewait,
       op_waiting_again, op_await, op_starting, op_resolve, op_plan, op_clear_outputs,
       op_pre_start, op_need_pre_start, op_keep_start,
       op_spawn, op_running, op_post_start, op_up);

ROUTINE(stop,
       op_stopping, op_turn, op_pre_stop, op_terminate, op_post_stop, op_stopped);

ROUTINE(halt,
       op_stopped);

ROUTINE(restart,
       op_restarting, op_turn, op_pre_restart, op_pre_stop, op_keep_restart, op_terminate,
       op_post_stop, op_turn_round, op_pause, op_await, op_resolve, op_plan, op_clear_outputs,
       op_pre_start, op_need_pre_start, op_keep_start,
       op_spawn, op_post_start, op_post_restart, op_running, op_up);

ROUTINE(exit,
       op_leave, op_post_exit, op_judge_exit, op_keep_outputs, op_ended);

OWN_ROUTINE(retry,
       op_starting_again, op_pause, op_pre_restart, op_await, op_resolve, op_plan, op_clear_outputs,
       op_pre_start, op_keep_restart,
       op_spawn, op_post_start, op_post_restart, op_running, op_up);

ROUTINE(healthy,
       op_healthy);

ROUTINE(unhealthy,
       op_unhealthy, op_judge_unhealthy);

ROUTINE(cleanup,
       op_pre_cleanup, op_cleaned);
/* clang-format on */

/* --- running them ---------------------------------------------------------------------------- */

/* What is due once nothing is going on. */
static const struct routine *find_next(struct service *service)
{
    enum status status = service_status(service);

    if (status_is_running(status))
        return service->alive ? NULL : &routine_exit;
    if (status_is_active(status))
        return NULL;
    if (service->start_due) {
        service->start_due = false;
        return &routine_start;
    }
    return NULL;
}

/* True when the routine waits. */
static bool run_ops(struct service *service)
{
    while (service->routine && service->routine->ops[service->at])
        switch (service->routine->ops[service->at](service)) {
        case OP_WAIT: return true;
        case OP_NEXT: service->at++; break;
        case OP_JUMP: break;
        }
    service->routine = NULL;
    return false;
}

static void run_routine(struct service *service)
{
    while (!run_ops(service)) {
        const struct routine *next = find_next(service);

        if (!next)
            break;
        (void)set_routine(service, next);
    }
    if (service->routine)
        return;
    health_next(service);
    service_changed(service);
}

void routine_begin(struct service *service, const struct routine *routine)
{
    struct timers *timers = world_of(service)->timers;

    timer_clear(timers, &service->pause);
    timer_clear(timers, &service->grace);
    if (service->hook.active || service->asking) {
        service->next = routine;
        if (service->hook.active)
            hook_cancel(service);
        else
            world_of(service)->ops->cancel_answer(world_of(service), service->index);
        return;
    }
    (void)set_routine(service, routine);
    run_routine(service);
}

void routine_continue(struct service *service)
{
    const struct routine *next = service->next;

    service->next = NULL;
    if (next)
        (void)set_routine(service, next);
    else
        service->at++;
    run_routine(service);
}

static bool is_at(const struct service *service, op_fn *op)
{
    return service->routine && !service->next && service->routine->ops[service->at] == op;
}

bool routine_is_start(const struct service *service)
{
    return service->routine == &routine_start || service->routine == &routine_rewait;
}

bool routine_waits_for_turn(const struct service *service)
{
    return is_at(service, op_turn);
}

bool routine_waits_for_edges(const struct service *service)
{
    return is_at(service, op_await);
}

bool routine_waits_for_end(const struct service *service)
{
    return is_at(service, op_terminate);
}

bool routine_waits_for_pause(const struct service *service)
{
    return is_at(service, op_pause);
}

bool routine_will_wait_for_edges(const struct service *service)
{
    if (!service->routine || service->next)
        return service->next != NULL;
    for (size_t at = service->at; service->routine->ops[at]; at++)
        if (service->routine->ops[at] == op_await)
            return true;
    return false;
}

void routine_settle(struct service *service, enum status status)
{
    timer_clear(world_of(service)->timers, &service->pause);
    (void)settle_service(service, status);
    run_routine(service);
}
