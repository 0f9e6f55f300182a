#include "core/base/err.h"
#include "kepler/engine/edge.h"
#include "kepler/engine/engine.h"
#include "kepler/engine/op.h"
#include "kepler/engine/routine.h"
#include "kepler/engine/service.h"
#include "core/sys/clock.h"

/* Minimum delay of a restart that did not reach a process. */
#define START_RETRY_MIN CLOCK_SECOND
/* Minimum delay in a crash loop that its limit does not end. */
#define CRASH_PAUSE_MIN CLOCK_SECOND

/* --- waiting ---------------------------------------------------------------------------- */

enum op_result op_waiting(struct service *service)
{
    service_because(service, "start requested%s", buf_text(&service->asked));
    edge_want_all(service, service->no_deps);
    service_enter(service, STATUS_WAITING);
    return OP_NEXT;
}

enum op_result op_waiting_again(struct service *service)
{
    service_enter(service, STATUS_WAITING);
    return OP_NEXT;
}

/* Evaluated in engine_step, when all services of the request are on their way. */
enum op_result op_await(struct service *service)
{
    if (!edge_has_any(service))
        return OP_NEXT;
    edge_begin(service);
    service_changed(service);
    return OP_WAIT;
}

/* Evaluated in engine_step: dependents must see the new status and, if it stops, stop first. */
enum op_result op_turn(struct service *service)
{
    service_changed(service);
    return OP_WAIT;
}

static void on_restart_delay_over(struct timer *timer)
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

    /* without a result */
    buf_printf(&why, "start limit reached: restarted %lld time%s within %lld s, last because %.*s",
               (long long)count, count == 1 ? "" : "s",
               (long long)(service->config->start_limit_interval / CLOCK_SECOND), STR_ARG(cause));
    service_recall_run(service); /* a dependent may check the exit code */
    return op_fail(service, buf_text(&why));
}

/* The minimum delay of this restart. */
static int64_t least_pause(const struct service *service, bool looping)
{
    if (looping)
        return CRASH_PAUSE_MIN;
    return service->start_failed ? START_RETRY_MIN : 0;
}

enum op_result op_pause(struct service *service)
{
    struct world *world = op_world(service);
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
    timer_set(world->timers, &service->pause, clock_after(now, delay), on_restart_delay_over);
    return OP_WAIT;
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

    if (edge->waived)
        service_because_of(service, target, "dependency %s did not meet %s, and is not required",
                           name, condition_name(edge->config->condition));
    else if (service_status(edge->target) == STATUS_SKIPPED)
        service_because_of(service, target, "dependency %s was skipped (allow_skipped)", name);
    else if (edge->order)
        service_because_of(service, target, "dependency %s is up again", name);
    else
        service_because_of(service, target, "dependency %s met %s", name,
                           condition_name(edge->config->condition));
    service->decisive = NULL;
}

/* The last edge that was waited for. */
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

enum op_result op_starting(struct service *service)
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
enum op_result op_starting_again(struct service *service)
{
    service_enter(service, STATUS_STARTING);
    service->restart = service_latest(service);
    return OP_NEXT;
}

enum op_result op_resolve(struct service *service)
{
    struct world *world = op_world(service);
    unsigned flags = (service->ignore_if ? WORLD_IGNORE_IF : 0) |
                     (service->routine == &routine_start ? 0 : WORLD_RESTART);
    struct err err;

    engine_plan(service->config, &service->plan);
    return op_note_answer(
        service, world->ops->resolve(world, service->index, flags, &service->plan, &err), &err);
}

enum op_result op_plan(struct service *service)
{
    if (service->answer.n == 0 && !service->plan.skip)
        return OP_NEXT;
    service_forget_run(service); /* the exit of an earlier process does not describe this start */
    if (service->answer.n > 0)
        return op_fail(service, buf_text(&service->answer));
    service_set_reason(service, "%s", service->plan.reason);
    service_because(service, "%s", service->plan.reason);
    return op_settle(service, STATUS_SKIPPED);
}

enum op_result op_clear_outputs(struct service *service)
{
    struct world *world = op_world(service);

    world->ops->outputs_clear(world, service->index);
    return OP_NEXT;
}

enum op_result op_keep_start(struct service *service)
{
    op_clear_logs(service, service->plan.logs.on_start);
    return OP_NEXT;
}

enum op_result op_keep_restart(struct service *service)
{
    op_clear_logs(service, service->plan.logs.on_restart);
    return OP_NEXT;
}

/* A first start without a process has failed. A restart by policy is retried as the policy says,
 * since it worked before. */
static bool is_tried_again(const struct service *service)
{
    bool by_policy =
        service->routine == &routine_retry ||
        (service->routine == &routine_restart && service->restart_cause == RESTART_UNHEALTHY);

    return by_policy && policy_restarts(&service->plan.policy, false);
}

enum op_result op_fail_start(struct service *service, const char *why)
{
    if (!is_tried_again(service)) {
        service_forget_run(service);
        return op_fail(service, why);
    }
    op_end_run(service);
    service_because(service, "%s", why);
    service->restart_cause = RESTART_POLICY;
    service->start_failed = true;
    return op_jump(service, &routine_retry);
}

static enum op_result fail_spawn(struct service *service, const char *why)
{
    struct world *world = op_world(service);

    if (is_tried_again(service))
        world->ops->note(world, service->index, HOOK_PHASES, WORLD_ERROR, why);
    return op_fail_start(service, why);
}

enum op_result op_spawn(struct service *service)
{
    struct world *world = op_world(service);
    struct service_record *record = &service->record;
    struct err err;

    if (world->ops->spawn(world, service->index, &record->pid, &err) < 0)
        return fail_spawn(service, err.text);
    service->tree = TREE_RUNNING;
    service->due = DUE_NOTHING;
    service->start_failed = false;
    service->stop_signal = 0;
    record->started_at = world->ops->wall(world);
    record->stopped_at = 0;
    service_forget_run(service);
    return OP_NEXT;
}

enum op_result op_running(struct service *service)
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

enum op_result op_up(struct service *service)
{
    struct world *world = op_world(service);

    service->record.initialized = true;
    if (service->tree != TREE_RUNNING)
        return OP_NEXT; /* it is over already: the end of the routine handles that */
    service->up = true;
    health_begin(service);
    service->files_on = service->plan.has_watch;
    if (service->files_on)
        world->ops->watch_start(world, service->index);
    return OP_NEXT;
}
