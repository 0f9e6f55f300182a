#include <signal.h>

#include "core/base/err.h"
#include "kepler/engine/engine.h"
#include "kepler/engine/op.h"
#include "kepler/engine/routine.h"
#include "kepler/engine/service.h"
#include "core/sys/clock.h"

/* --- down ------------------------------------------------------------------------------- */

enum op_result op_stopping(struct service *service)
{
    service->leaving = LEAVING;
    service_enter(service, STATUS_STOPPING);
    return OP_NEXT;
}

enum op_result op_restarting(struct service *service)
{
    service->leaving = LEAVING_TO_RESTART;
    engine_pass_restart(service->engine, service);
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

enum op_result op_terminate(struct service *service)
{
    struct world *world = op_world(service);
    int signo = service->stop_signal ? service->stop_signal : service->config->stop_signal;
    int64_t grace = grace_of(service);

    if (service->tree == TREE_EMPTY)
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

enum op_result op_stopped(struct service *service)
{
    service->record.restarts = service->record.restarts_since_healthy = 0;
    service->window_count = 0;
    op_clear_logs(service, service->keep_logs ? CONFIG_RETAIN : service->plan.logs.on_stop);
    return op_settle(service, STATUS_STOPPED);
}

/* The turning point of a restart: it is down, and its dependencies may stop. If it was stopped
 * meanwhile, and perhaps started again, it goes through stopped. */
enum op_result op_turn_round(struct service *service)
{
    op_end_run(service);
    service->leaving = STAYING;
    service->stop_signal = 0;
    service_changed(service);
    return service_status(service) == STATUS_STOPPING ? op_stopped(service) : OP_NEXT;
}

/* --- the process ended by itself ---------------------------------------------------------- */

enum op_result op_leave(struct service *service)
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

static void note_policy(struct service *service)
{
    service_because_also(service, "; restart policy: ");
    policy_print(service->plan.policy.flags, &service->cause);
}

enum op_result op_judge_exit(struct service *service)
{
    const struct config_logs *logs = &service->plan.logs;

    op_end_run(service);
    op_clear_logs(service, ended_well(service) ? logs->on_success : logs->on_failure);
    if (service->goal == GOAL_DOWN || service->leaving != STAYING)
        return op_stopped(service); /* and perhaps starts again */
    if (policy_restarts(&service->plan.policy, ended_well(service))) {
        service->restart_cause = RESTART_POLICY;
        engine_pass_restart(service->engine, service);
        note_policy(service);
        return op_jump(service, &routine_retry);
    }
    return OP_NEXT;
}

/* For waiting services it has not ended until its outputs are known. */
enum op_result op_keep_outputs(struct service *service)
{
    struct world *world = op_world(service);
    struct err err;
    enum op_result result =
        op_note_answer(service, world->ops->outputs_keep(world, service->index, &err), &err);

    if (result == OP_WAIT && service_status(service) != STATUS_STOPPING)
        service_enter(service, STATUS_STOPPING);
    return result;
}

enum op_result op_ended(struct service *service)
{
    struct world *world = op_world(service);

    if (service->answer.n > 0)
        world->ops->note(world, service->index, HOOK_PHASES, WORLD_ERROR,
                         buf_text(&service->answer));
    if (service->goal == GOAL_DOWN || service->leaving != STAYING)
        return op_stopped(service);
    return op_settle(service, service->record.signal ? STATUS_KILLED : STATUS_EXITED);
}

enum op_result op_judge_unhealthy(struct service *service)
{
    bool restarts = (service->plan.policy.flags & POLICY_ON_UNHEALTHY) != 0;

    if (!restarts || service->goal == GOAL_DOWN || service->tree != TREE_RUNNING)
        return OP_NEXT;
    service->restart_cause = RESTART_UNHEALTHY;
    note_policy(service);
    return op_jump(service, &routine_restart);
}

enum op_result op_cleaned(struct service *service)
{
    struct engine_event event = { .kind = EVENT_CLEANED };

    op_end_run(service);
    engine_emit(service->engine, service, &event);
    return OP_NEXT;
}
