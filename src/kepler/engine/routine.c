#include "kepler/engine/routine.h"

#include "kepler/engine/op.h"
#include "kepler/engine/service.h"

/* --- the routines ---------------------------------------------------------------------------- */

/* clang-format off */
#define ROUTINE(name, ...)                                                                          \
    static op_fn *const name##_ops[] = { __VA_ARGS__, NULL };                                      \
    const struct routine routine_##name = { name##_ops }

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

ROUTINE(retry,
       op_starting_again, op_pause, op_pre_restart, op_await, op_resolve, op_plan, op_clear_outputs,
       op_pre_start, op_need_pre_start, op_keep_restart,
       op_spawn, op_post_start, op_post_restart, op_running, op_up);

ROUTINE(healthy,
       op_healthy);

ROUTINE(unhealthy,
       op_unhealthy, op_turn, op_judge_unhealthy);

ROUTINE(cleanup,
       op_pre_cleanup, op_cleaned);
/* clang-format on */

/* --- running them ---------------------------------------------------------------------------- */

/* The next routine once nothing is in progress. */
static const struct routine *find_due_routine(struct service *service)
{
    enum status status = service_status(service);

    if (status_is_running(status))
        return service->tree != TREE_EMPTY ? NULL : &routine_exit;
    if (status_is_active(status))
        return NULL;
    if (service->due == DUE_START) {
        service->due = DUE_NOTHING;
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
        const struct routine *next = find_due_routine(service);

        if (!next)
            break;
        (void)op_jump(service, next);
    }
    if (service->routine)
        return;
    health_next(service);
    service_changed(service);
}

void routine_begin(struct service *service, const struct routine *routine)
{
    struct timers *timers = op_world(service)->timers;

    timer_clear(timers, &service->pause);
    timer_clear(timers, &service->grace);
    if (hook_is_active(&service->hook) || service->asking) {
        service->next = routine;
        if (hook_is_active(&service->hook))
            hook_cancel(service);
        else
            op_world(service)->ops->cancel_answer(op_world(service), service->index);
        return;
    }
    (void)op_jump(service, routine);
    run_routine(service);
}

void routine_continue(struct service *service)
{
    const struct routine *next = service->next;

    service->next = NULL;
    if (next)
        (void)op_jump(service, next);
    else
        service->at++;
    run_routine(service);
}

static bool is_at_operation(const struct service *service, op_fn *op)
{
    return service->routine && !service->next && service->routine->ops[service->at] == op;
}

bool routine_is_start(const struct service *service)
{
    return service->routine == &routine_start || service->routine == &routine_rewait;
}

bool routine_waits_for_turn(const struct service *service)
{
    return is_at_operation(service, op_turn);
}

bool routine_waits_for_edges(const struct service *service)
{
    return is_at_operation(service, op_await);
}

bool routine_waits_for_end(const struct service *service)
{
    return is_at_operation(service, op_terminate);
}

bool routine_waits_for_pause(const struct service *service)
{
    return is_at_operation(service, op_pause);
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
    timer_clear(op_world(service)->timers, &service->pause);
    (void)op_settle(service, status);
    run_routine(service);
}
