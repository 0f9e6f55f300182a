#include "kepler/engine/health.h"

#include "core/base/err.h"
#include "kepler/engine/engine.h"
#include "kepler/engine/service.h"
#include "core/sys/clock.h"

/* For checks without a timeout. */
#define TIMEOUT_DEFAULT (30 * CLOCK_SECOND)

static void on_check_due(struct timer *timer);

static void set_check_timer(struct service *service, int64_t after, timer_fn *fn)
{
    struct world *world = engine_world(service->engine);

    timer_set(world->timers, &service->health.timer, clock_after(world->ops->now(world), after),
              fn);
}

static void judge_check(struct service *service, bool pass)
{
    struct service_record *record = &service->record;
    enum status status = service_status(service);

    if (pass) {
        record->check_failures = 0;
        record->restarts_since_healthy = 0;
    } else if (record->check_failures < UINT32_MAX) {
        record->check_failures++;
    }
    service->health.answered = true;
    if (pass && status != STATUS_HEALTHY)
        service_handle(service, EV_HEALTHY);
    else if (!pass && status != STATUS_UNHEALTHY &&
             record->check_failures >= service->plan.check.retries)
        service_handle(service, EV_UNHEALTHY);
    else
        health_next(service);
}

static void on_check_late(struct timer *timer)
{
    struct health *health = container_of(timer, struct health, timer);
    struct service *service = container_of(health, struct service, health);
    struct world *world = engine_world(service->engine);

    health->timed_out = true;
    world->ops->task_kill(world, service->index, WORLD_CHECK);
}

static void start_health_check(struct service *service)
{
    struct world *world = engine_world(service->engine);
    struct health *health = &service->health;
    int64_t timeout = service->plan.check.timeout;
    struct err err;

    health->timed_out = false;
    switch (world->ops->task_start(world, service->index, WORLD_CHECK, &err)) {
    case WORLD_STARTED:
        health->stage = HEALTH_CHECKING;
        set_check_timer(service, timeout > 0 ? timeout : TIMEOUT_DEFAULT, on_check_late);
        return;
    case WORLD_NOTHING: judge_check(service, true); return;
    case WORLD_FAILED:
        world->ops->note(world, service->index, HOOK_PHASES, WORLD_ERROR, err.text);
        health->end = HEALTH_UNSTARTED;
        buf_clear(&health->words);
        judge_check(service, false);
        return;
    }
}

void health_print_last(const struct service *service, struct buf *out)
{
    const struct health *health = &service->health;

    if (health->end == HEALTH_UNSTARTED)
        buf_add_text(out, "it could not be started");
    else if (health->end == HEALTH_LATE)
        buf_add_text(out, "it exceeded its timeout");
    else
        process_status_print(health->last, out);
    if (health->words.n > 0)
        buf_printf(out, ": %s", buf_text(&health->words));
}

static void on_check_due(struct timer *timer)
{
    struct health *health = container_of(timer, struct health, timer);

    start_health_check(container_of(health, struct service, health));
}

void health_begin(struct service *service)
{
    struct health *health = &service->health;

    if (!service->plan.check.given)
        return;
    health->on = true;
    if (health->stage == HEALTH_IDLE) /* else when the previous run's check has ended */
        set_check_timer(service, service->plan.check.start_period, on_check_due);
}

void health_next(struct service *service)
{
    struct health *health = &service->health;

    if (!health->on || !health->answered)
        return;
    health->answered = false;
    set_check_timer(service, service->plan.check.interval, on_check_due);
}

void health_end(struct service *service)
{
    struct world *world = engine_world(service->engine);
    struct health *health = &service->health;

    health->on = health->answered = false;
    timer_clear(world->timers, &health->timer);
    if (health->stage == HEALTH_CHECKING) {
        health->stage = HEALTH_STALE;
        world->ops->task_kill(world, service->index, WORLD_CHECK);
    }
}

void health_task_ended(struct service *service, struct process_status status)
{
    struct world *world = engine_world(service->engine);
    struct health *health = &service->health;
    bool stale = health->stage == HEALTH_STALE;

    if (health->stage == HEALTH_IDLE)
        return;
    timer_clear(world->timers, &health->timer);
    health->stage = HEALTH_IDLE;
    health->last = status;
    health->end = health->timed_out ? HEALTH_LATE : HEALTH_ENDED;
    buf_clear(&health->words);
    if (health->timed_out || !process_status_ok(status))
        service_add_words(&health->words, "%s", world->ops->check_words(world, service->index));
    if (!health->on)
        service_changed(service); /* a stop may have waited for it */
    else if (stale)
        set_check_timer(service, service->plan.check.start_period, on_check_due);
    else
        judge_check(service, !health->timed_out && process_status_ok(status));
}

void health_done(struct health *health)
{
    buf_done(&health->words);
}
