/*
 * The life of a service.
 *
 *            start           edges met            spawned
 *   inactive ----> waiting ----------> starting ----------> running <-> healthy
 *      ^              |                    |  ^                |   <-> unhealthy
 *      |              | skip, late         |  | policy         |
 *      +--------------+--------------------+  +----------------+ the process ends
 *      |                                                       |
 *      +---- exited, killed <----------------------------------+
 *      +---- stopped <---- stopping <--------------------------+ stop
 *                                      running <-- restarting <+ restart
 *
 * Inactive are stopped, exited, killed, failed and skipped. A process that ended and will be
 * started again never shows as exited: the service goes to `starting` at once, which includes the
 * delay before the restart. So an inactive status is reliable: nothing happens to the service by
 * itself.
 *
 * `restarting` is a restart by hand, for changed files, for a failed health check,
 * or because a dependency restarts. It has two halves. In the first (LEAVING_TO_RESTART)
 * the old process ends; a second cause that arrives then changes nothing. In the
 * second the edges that passed a restart on are waited for, and a new one starts.
 *
 * All activity of a service is a routine (routine.c); none is running when it is inactive, or idle
 * in the running family. The table decides which event may interrupt which.
 *
 *   goal      where the service should end up. Only engine_start and engine_stop
 *             set it. With GOAL_DOWN no restart begins, whatever the cause, and
 *             every routine ends in `stopped`: a stop wins.
 *   tree      a stop is over when it is TREE_EMPTY.
 *   leaving   on its way down. Dependencies that stop as well wait for it, so a stop
 *             runs in parallel and yet in reverse order.
 *
 * Invariants: a spawn happens only while `tree` is TREE_EMPTY. Checks and watches are on
 * only in the running family (`up`), and are taken off where the status changes.
 * Edges have timers only while a routine waits for them.
 */
#include "kepler/engine/service.h"

#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/utf8.h"
#include "kepler/engine/edge.h"
#include "kepler/engine/engine.h"
#include "kepler/engine/routine.h"

typedef void action_fn(struct service *service);

/* --- texts ------------------------------------------------------------------------------ */

/* Reasons end up on other users' terminals, root's among them. They come from files, scripts and
 * clients of any user, so control sequences are stripped. */
static void append_reason(struct buf *words, const char *fmt, va_list args) PRINTF_LIKE(2, 0);

static void append_reason(struct buf *words, const char *fmt, va_list args)
{
    size_t length;

    buf_vprintf(words, fmt, args);
    for (size_t at = 0; at < words->n; at += length) {
        struct str rest = str_from_offset(buf_view(words), at);

        length = utf8_length_at(rest);
        if (utf8_is_control(str_slice(rest, 0, length)))
            memset(words->p + at, strchr("\n\r\t", rest.p[0]) ? ' ' : '?', length);
    }
}

void service_add_words(struct buf *words, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    append_reason(words, fmt, args);
    va_end(args);
}

void service_because(struct service *service, const char *fmt, ...)
{
    va_list args;

    service->by = (struct history_link){ .given = false };
    buf_clear(&service->cause);
    va_start(args, fmt);
    append_reason(&service->cause, fmt, args);
    va_end(args);
}

struct history_link service_latest(const struct service *service)
{
    uint64_t count = service->history.count;

    return (struct history_link){ count > 0, service->index, count - 1 };
}

void service_because_of(struct service *service, struct history_link by, const char *fmt, ...)
{
    va_list args;

    service->by = by;
    buf_clear(&service->cause);
    va_start(args, fmt);
    append_reason(&service->cause, fmt, args);
    va_end(args);
}

void service_because_also(struct service *service, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    append_reason(&service->cause, fmt, args);
    va_end(args);
}

void service_set_reason(struct service *service, const char *fmt, ...)
{
    va_list args;

    buf_clear(&service->reason);
    va_start(args, fmt);
    append_reason(&service->reason, fmt, args);
    va_end(args);
}

void service_set_answer(struct service *service, const struct err *err)
{
    buf_clear(&service->answer);
    if (err)
        buf_add_text(&service->answer, err->text);
}

/* --- the status --------------------------------------------------------------------------- */

static void end_observation(struct service *service)
{
    struct world *world = engine_world(service->engine);

    service->up = false;
    health_end(service);
    if (service->files_on)
        world->ops->watch_stop(world, service->index);
    service->files_on = false;
}

void service_forget_run(struct service *service)
{
    struct service_record *record = &service->record;

    service->last_end =
        (struct service_end){ record->has_exit_code, record->exit_code, record->signal };
    record->has_exit_code = record->was_healthy = false;
    record->exit_code = record->signal = 0;
    record->check_failures = 0;
}

void service_recall_run(struct service *service)
{
    const struct service_end *end = &service->last_end;

    if (service->record.has_exit_code || service->record.signal)
        return;
    service->record.has_exit_code = end->has_exit_code;
    service->record.exit_code = end->exit_code;
    service->record.signal = end->signal;
}

/* Skipped and failed keep the reason that was set for them; all others have none. */
static void record_status(struct service *service, enum status status, int64_t wall)
{
    struct service_record *record = &service->record;

    record->status = status;
    if (status != STATUS_SKIPPED && status != STATUS_FAILED)
        buf_clear(&service->reason);
    if (status == STATUS_STARTING)
        service_forget_run(service);
    if (status_is_active(status))
        return;
    record->pid = 0;
    record->started_at = 0;
    record->stopped_at = wall;
    service->leaving = STAYING;
    service->stop_signal = 0;
}

void service_enter(struct service *service, enum status status)
{
    struct world *world = engine_world(service->engine);
    enum status from = service->record.status;
    int64_t wall = world->ops->wall(world);
    struct engine_event event = { .kind = EVENT_STATUS, .from = from, .to = status };

    history_add(
        &service->history,
        &(struct history_entry){ .from = from, .to = status, .wall = wall, .by = service->by },
        buf_text(&service->cause));
    if (service->up && !status_is_running(status))
        end_observation(service);
    record_status(service, status, wall);
    event.cause = buf_text(&service->cause);
    event.reason = buf_text(&service->reason);
    if (from != status)
        engine_emit(service->engine, service, &event);
    service_changed(service);
}

void service_changed(struct service *service)
{
    engine_queue(service->engine, service);
}

bool service_is_idle(const struct service *service)
{
    return !service->routine && service->tree == TREE_EMPTY && !hook_is_active(&service->hook) &&
           service->health.stage == HEALTH_IDLE && service->due == DUE_NOTHING;
}

struct condition_facts service_facts(const struct service *service)
{
    const struct service_record *record = &service->record;

    return (struct condition_facts){ .status = record->status,
                                     .has_exit_code = record->has_exit_code,
                                     .exit_code = record->exit_code,
                                     .signal = record->signal,
                                     .was_healthy = record->was_healthy,
                                     .untouched = record->stopped_at == 0,
                                     .limited = config_is_limited(service->config),
                                     .policy = &service->plan.policy,
                                     .name = service->config->name };
}

/* Its process has ended by itself, and the consequence is undecided. */
static bool is_ending(const struct service *service)
{
    return service->tree != TREE_RUNNING &&
           (status_is_running(service_status(service)) || service->routine == &routine_exit);
}

/* Its health check failed too often; the restart has not begun. */
static bool is_falling(const struct service *service)
{
    return service->routine == &routine_unhealthy && service->tree == TREE_RUNNING &&
           (service->plan.policy.flags & POLICY_ON_UNHEALTHY) != 0;
}

bool service_will_restart(const struct service *service)
{
    const struct service_record *record = &service->record;
    bool well = record->has_exit_code && record->exit_code == 0;

    if (service->goal != GOAL_UP || service->leaving != STAYING)
        return false;
    return is_falling(service) ||
           (is_ending(service) && policy_restarts(&service->plan.policy, well));
}

enum service_goal service_find_goal(const struct service *service)
{
    enum status status = service_status(service);
    bool down = status == STATUS_STOPPING || is_ending(service);

    if (service->goal == GOAL_DOWN)
        return GOAL_DOWN;
    if (!status_is_active(status))
        return GOAL_ENDED;
    return !down || service->due == DUE_START || service_will_restart(service) ? GOAL_UP
                                                                               : GOAL_ENDED;
}

/* --- requests ----------------------------------------------------------------------------- */

static void begin_service_start(struct service *service)
{
    if (service->routine) { /* cleaning up */
        service->due = DUE_START;
        return;
    }
    service->record.restarts = service->record.restarts_since_healthy = 0;
    service->window_count = 0;
    routine_begin(service, &routine_start);
}

/* It waits before a restart: restart now. */
static void end_pause(struct service *service)
{
    if (!routine_waits_for_pause(service))
        return;
    timer_clear(engine_world(service->engine)->timers, &service->pause);
    routine_continue(service);
}

static void start_without_pause(struct service *service)
{
    if (!routine_waits_for_pause(service))
        return;
    service->record.restarts = service->record.restarts_since_healthy = 0;
    service->window_count = 0;
    end_pause(service);
}

static void start_when_down(struct service *service)
{
    service->due = DUE_START;
}

/* The result of its last check is cleared with the service: save it. */
static void add_check_words(struct service *service, const struct service *of, const char *whose,
                            const char *has)
{
    uint32_t failures = of->record.check_failures;

    if (failures == 0)
        return;
    service_because_also(service, "; %s %sfailed %u time%s, last: ", whose, has, failures,
                         failures == 1 ? "" : "s");
    health_print_last(of, &service->cause);
}

/* Its process, if any, runs on until its turn. */
static void begin_stop(struct service *service)
{
    service_because(service, "stop requested%s", engine_asker(service->engine));
    add_check_words(service, service, "health check", "had ");
    routine_begin(service, &routine_stop);
}

/* Requested again, perhaps with a stronger signal: SIGKILL does not wait for a hook either. */
static void speed_up_stop(struct service *service)
{
    struct world *world = engine_world(service->engine);

    if (hook_is_active(&service->hook) && service->stop_signal == SIGKILL)
        hook_cancel(service);
    if (service->stop_signal == 0 || !routine_waits_for_end(service))
        return;
    if (service->stop_signal == SIGKILL)
        world->ops->kill(world, service->index);
    else
        world->ops->signal(world, service->index, service->stop_signal);
}

/* Nothing runs yet, or the old process is ending already. */
static void stop_before_running(struct service *service)
{
    service_because(service, "stop requested%s", engine_asker(service->engine));
    if (service->leaving == LEAVING_TO_RESTART) {
        service_enter(service, STATUS_STOPPING);
        speed_up_stop(service);
    } else if (service->tree != TREE_EMPTY) {
        routine_begin(service, &routine_stop);
    } else if (hook_is_active(&service->hook) || service->asking) {
        service->leaving = LEAVING;
        service_enter(service, STATUS_STOPPING);
        routine_begin(service, &routine_halt);
    } else {
        routine_begin(service, &routine_halt);
    }
}

static void begin_service_restart(struct service *service)
{
    service_because(service, "restart requested%s", engine_asker(service->engine));
    service->restart_cause = RESTART_MANUAL;
    routine_begin(service, &routine_restart);
}

static void restart_for_files(struct service *service)
{
    service->restart_cause = RESTART_WATCH; /* the cause names the file */
    routine_begin(service, &routine_restart);
}

static void begin_cleanup(struct service *service)
{
    service->due = DUE_NOTHING;
    routine_begin(service, &routine_cleanup);
}

/* --- neighbours ----------------------------------------------------------------------------- */

static bool is_service_blocked(const struct service *service)
{
    for (size_t i = 0; i < service->dependent_count; i++)
        if (service->dependents[i]->owner->leaving != STAYING)
            return true;
    return false;
}

static void continue_turn(struct service *service)
{
    if (routine_waits_for_turn(service) &&
        !(service->leaving != STAYING && is_service_blocked(service)))
        routine_continue(service);
}

static void judge_edges(struct service *service)
{
    enum edge_result result;

    if (!routine_waits_for_edges(service))
        return;
    result = edge_judge(service);
    if (result == EDGE_RESULT_SKIP || result == EDGE_RESULT_LATE)
        service_forget_run(service); /* how an earlier process ended is not how this start did */
    if (result == EDGE_RESULT_GO) {
        routine_continue(service);
    } else if (result == EDGE_RESULT_LATE && service->decisive_state) {
        service_because(service, "%s", buf_text(&service->reason));
        routine_settle(service, STATUS_FAILED);
    } else if (result != EDGE_RESULT_WAIT) {
        const struct service *target = service->decisive->target;
        AUTO_BUF struct buf whose = BUF_INIT(SERVICE_REASON_MAX);

        service_because_of(service, service_latest(target), "%s", buf_text(&service->reason));
        buf_printf(&whose, "the health check of %s", target->config->name);
        if (result == EDGE_RESULT_LATE)
            add_check_words(service, target, buf_text(&whose), "");
        routine_settle(service, result == EDGE_RESULT_SKIP ? STATUS_SKIPPED : STATUS_FAILED);
    }
}

/* The edge has been marked as one to wait for; its timeout runs from now. */
static void restart_edge_timeouts(struct service *service)
{
    edge_begin(service);
}

/* If the process has ended, the policy decides; a restart then waits for the edge. */
static void follow_restart(struct service *service)
{
    if (service->tree != TREE_RUNNING)
        return;
    service->restart_cause = RESTART_PROPAGATED;
    routine_begin(service, &routine_restart);
}

/* While starting: a service that is past its edges goes back to them. */
static void follow_restart_early(struct service *service)
{
    if (routine_waits_for_edges(service))
        edge_begin(service);
    else if (service->leaving == LEAVING_TO_RESTART || routine_will_wait_for_edges(service))
        return;
    else if (service->tree != TREE_EMPTY)
        follow_restart(service);
    else
        routine_begin(service, &routine_rewait);
}

/* --- the process ------------------------------------------------------------------------------ */

/* It ended by itself: end its leftover processes, too. */
static void kill_leftovers(struct service *service)
{
    struct world *world = engine_world(service->engine);

    world->ops->kill(world, service->index);
}

/* During a stop, leftover processes may use the rest of the grace period. */
static void kill_leftovers_unless_leaving(struct service *service)
{
    if (service->leaving != LEAVING_TO_RESTART)
        kill_leftovers(service);
}

static void handle_empty_tree(struct service *service)
{
    if (routine_waits_for_end(service)) {
        timer_clear(engine_world(service->engine)->timers, &service->grace);
        routine_continue(service);
    } else if (!service->routine) {
        routine_begin(service, &routine_exit);
    }
}

static void kill_after_grace(struct service *service)
{
    struct world *world = engine_world(service->engine);

    service_because_also(service, "; still running after its grace period");
    world->ops->kill(world, service->index);
}

/* --- health ------------------------------------------------------------------------------ */

static void become_healthy(struct service *service)
{
    service_because(service, "health check passed");
    service->record.was_healthy = true;
    service_enter(service, STATUS_HEALTHY);
    routine_begin(service, &routine_healthy);
}

static void become_unhealthy(struct service *service)
{
    service_because(service, "health check failed %u time%s in a row, last: ",
                    service->record.check_failures, service->record.check_failures == 1 ? "" : "s");
    health_print_last(service, &service->cause);
    service_enter(service, STATUS_UNHEALTHY);
    routine_begin(service, &routine_unhealthy);
}

/* --- the table --------------------------------------------------------------------------- */

/* An empty cell is an event without meaning in that state. Actions change their own service only.
 */
/* clang-format off */
#define INACTIVE                                                                                   \
    { [EV_START] = begin_service_start,                [EV_CLEAN] = begin_cleanup,                                       \
      [EV_HOOK_DONE] = routine_continue }
#define RUNNING                                                                                    \
      [EV_STOP] = begin_stop,                  [EV_RESTART] = begin_service_restart,                                   \
      [EV_DEP_RESTART] = follow_restart, [EV_FILES] = restart_for_files,                           \
      [EV_TURN] = continue_turn,                                                                   \
      [EV_EXITED] = kill_leftovers,               [EV_EMPTY] = handle_empty_tree,                                     \
      [EV_HOOK_DONE] = routine_continue

static action_fn *const actions[STATUSES][SERVICE_EVENTS] = {
    [STATUS_STOPPED] = INACTIVE,
    [STATUS_EXITED]  = INACTIVE,
    [STATUS_KILLED]  = INACTIVE,
    [STATUS_FAILED]  = INACTIVE,
    [STATUS_SKIPPED] = INACTIVE,

    [STATUS_WAITING] = {
        [EV_STOP]        = stop_before_running,           [EV_EDGE]       = judge_edges,
        [EV_DEP_RESTART] = restart_edge_timeouts,           [EV_EDGE_LATE]  = judge_edges },

    [STATUS_STARTING] = {
        [EV_START]       = start_without_pause,            [EV_RESTART]    = end_pause,
        [EV_STOP]        = stop_before_running,           [EV_EDGE]       = judge_edges,
        [EV_DEP_RESTART] = follow_restart_early, [EV_EDGE_LATE]  = judge_edges,
        [EV_HOOK_DONE]   = routine_continue,     [EV_PAUSE_OVER] = routine_continue,
        [EV_EXITED]      = kill_leftovers,                [EV_EMPTY]      = handle_empty_tree,
        [EV_ANSWER]      = routine_continue },

    [STATUS_RUNNING]   = { RUNNING, [EV_HEALTHY] = become_healthy, [EV_UNHEALTHY] = become_unhealthy },
    [STATUS_HEALTHY]   = { RUNNING, [EV_UNHEALTHY] = become_unhealthy },
    [STATUS_UNHEALTHY] = { RUNNING, [EV_HEALTHY] = become_healthy },

    [STATUS_STOPPING] = {
        [EV_START]       = start_when_down,          [EV_STOP]       = speed_up_stop,
        [EV_TURN]        = continue_turn,            [EV_HOOK_DONE]  = routine_continue,
        [EV_EMPTY]       = handle_empty_tree,              [EV_GRACE_OVER] = kill_after_grace,
        [EV_ANSWER]      = routine_continue },

    [STATUS_RESTARTING] = {
        [EV_START]       = start_without_pause,            [EV_RESTART]    = end_pause,
        [EV_STOP]        = stop_before_running,           [EV_TURN]       = continue_turn,
        [EV_EDGE]        = judge_edges,          [EV_EDGE_LATE]  = judge_edges,
        [EV_DEP_RESTART] = follow_restart_early, [EV_PAUSE_OVER] = routine_continue,
        [EV_HOOK_DONE]   = routine_continue,     [EV_EXITED]     = kill_leftovers_unless_leaving,
        [EV_EMPTY]       = handle_empty_tree,              [EV_GRACE_OVER] = kill_after_grace,
        [EV_ANSWER]      = routine_continue },
};
/* clang-format on */

/* With GOAL_DOWN these no longer count. */
static const bool wants_up[SERVICE_EVENTS] = {
    [EV_RESTART] = true,
    [EV_DEP_RESTART] = true,
    [EV_FILES] = true,
};

void service_handle(struct service *service, enum service_event event)
{
    action_fn *action = actions[service->record.status][event];

    if (!action || (wants_up[event] && service->goal == GOAL_DOWN))
        return;
    action(service);
}
