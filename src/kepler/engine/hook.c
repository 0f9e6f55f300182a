#include "kepler/engine/hook.h"

#include "core/base/err.h"
#include "kepler/engine/engine.h"
#include "kepler/engine/service.h"
#include "core/sys/clock.h"

static void report_hook_event(struct service *service, enum event_kind kind)
{
    struct engine_event event = { .kind = kind,
                                  .phase = service->hook.phase,
                                  .reason = buf_text(&service->hook.error) };

    engine_emit(service->engine, service, &event);
}

/* Users count steps from 1. */
static void fail_step(struct service *service, const char *why)
{
    struct world *world = engine_world(service->engine);
    struct hook *hook = &service->hook;
    AUTO_BUF struct buf text = BUF_INIT(HOOK_ERROR_MAX);

    buf_printf(&text, "hook %s: step %zu: %s", hook_phase_name(hook->phase), hook->step + 1, why);
    world->ops->note(world, service->index, hook->phase, WORLD_ERROR, buf_text(&text));
    if (hook->failed)
        return; /* the first failure counts */
    hook->failed = true;
    buf_clear(&hook->error);
    buf_add_str(&hook->error, buf_view(&text));
}

static void pass_step(struct service *service)
{
    if (service->hook.clears)
        service->hook.failed = false;
}

static void on_step_late(struct timer *timer)
{
    struct hook *hook = container_of(timer, struct hook, timer);
    struct service *service = container_of(hook, struct service, hook);
    struct world *world = engine_world(service->engine);

    hook->timed_out = true;
    world->ops->task_kill(world, service->index, WORLD_HOOK);
}

/* True when a step was started. */
static bool start_step(struct service *service, const struct world_step *step)
{
    struct world *world = engine_world(service->engine);
    struct hook *hook = &service->hook;
    struct err err;

    hook->clears = step->clears;
    hook->timed_out = false;
    switch (world->ops->task_start(world, service->index, WORLD_HOOK, &err)) {
    case WORLD_FAILED: fail_step(service, err.text); return false;
    case WORLD_NOTHING: pass_step(service); return false;
    case WORLD_STARTED: break;
    }
    hook->stage = HOOK_STAGE_RUNNING;
    timer_set(world->timers, &hook->timer,
              clock_after(world->ops->now(world), step->timeout > 0 ? step->timeout : HOOK_TIMEOUT),
              on_step_late);
    return true;
}

/* True when a step was started. `err`: it could not be evaluated. */
static bool begin_hook_step(struct service *service, const struct world_step *step,
                            const struct err *err)
{
    struct world *world = engine_world(service->engine);

    if (err) {
        fail_step(service, err->text);
        return false;
    }
    if (step->warning)
        world->ops->note(world, service->index, service->hook.phase, WORLD_WARNING, step->warning);
    return step->run && start_step(service, step);
}

/* True when a step was started, or will be. */
static bool try_step(struct service *service)
{
    struct world *world = engine_world(service->engine);
    struct hook *hook = &service->hook;
    const struct config_step *config = &service->config->hooks[hook->phase].p[hook->step];
    struct world_step step = { .run = true, .timeout = config->timeout };
    enum world_answer answer;
    struct err err;

    if (!config->condition && hook->failed)
        return false;
    answer = world->ops->prepare_step(world, service->index, hook->phase, hook->step, hook->failed,
                                      &step, &err);
    if (answer == WORLD_LATER) {
        hook->stage = HOOK_STAGE_PREPARING;
        return true;
    }
    return begin_hook_step(service, &step, answer == WORLD_NO ? &err : NULL);
}

/* Go on until a step runs; true when there is none left. */
static bool run_next_step(struct service *service)
{
    struct hook *hook = &service->hook;

    while (!hook->canceled && hook->step < service->config->hooks[hook->phase].n) {
        if (try_step(service))
            return false;
        hook->step++;
    }
    hook->stage = HOOK_STAGE_IDLE;
    report_hook_event(service, hook->failed ? EVENT_HOOK_FAILED : EVENT_HOOK_COMPLETED);
    return true;
}

bool hook_begin(struct service *service, enum hook_phase phase)
{
    struct hook *hook = &service->hook;

    hook->failed = hook->canceled = false;
    if (service->config->hooks[phase].n == 0)
        return true;
    hook->phase = phase;
    hook->stage = HOOK_STAGE_NEXT;
    hook->step = 0;
    buf_clear(&hook->error);
    report_hook_event(service, EVENT_HOOK_STARTED);
    return run_next_step(service);
}

void hook_cancel(struct service *service)
{
    struct world *world = engine_world(service->engine);

    if (service->hook.canceled)
        return;
    service->hook.canceled = true;
    if (service->hook.stage == HOOK_STAGE_PREPARING)
        world->ops->cancel_answer(world, service->index);
    else
        world->ops->task_kill(world, service->index, WORLD_HOOK);
}

static void continue_phase(struct service *service)
{
    service->hook.step++;
    if (run_next_step(service))
        service_handle(service, EV_HOOK_DONE);
}

void hook_step_prepared(struct service *service, const struct world_step *step,
                        const struct err *err)
{
    struct hook *hook = &service->hook;

    if (hook->stage != HOOK_STAGE_PREPARING)
        return;
    hook->stage = HOOK_STAGE_NEXT;
    if (hook->canceled)
        fail_step(service, "canceled");
    else if (begin_hook_step(service, step, err))
        return;
    continue_phase(service);
}

void hook_task_ended(struct service *service, struct process_status status)
{
    struct hook *hook = &service->hook;
    AUTO_BUF struct buf why = BUF_INIT(HOOK_ERROR_MAX);

    if (hook->stage != HOOK_STAGE_RUNNING)
        return;
    hook->stage = HOOK_STAGE_NEXT;
    timer_clear(engine_world(service->engine)->timers, &hook->timer);
    if (hook->canceled)
        buf_add_text(&why, "canceled");
    else if (hook->timed_out)
        buf_add_text(&why, "it exceeded its timeout");
    else if (!process_status_ok(status))
        process_status_print(status, &why);
    if (why.n > 0)
        fail_step(service, buf_text(&why));
    else
        pass_step(service);
    continue_phase(service);
}

void hook_done(struct hook *hook)
{
    buf_done(&hook->error);
}
