#include "kepler/engine/state_edge.h"

#include "kepler/config/config.h"
#include "kepler/engine/engine.h"
#include "core/sys/clock.h"

static struct world_state find_edge_state(const struct service_state *state)
{
    struct world *world = engine_world(state->owner->engine);

    return world->ops->find_state(world, state->owner->index, state->config->name);
}

void state_edges_want(struct service *service, bool none)
{
    service->decisive_state = NULL;
    for (size_t i = 0; i < service->state_count; i++)
        service->states[i].waits = !none;
}

bool state_edges_wait(const struct service *service)
{
    for (size_t i = 0; i < service->state_count; i++)
        if (service->states[i].waits)
            return true;
    return false;
}

static void on_state_late(struct timer *timer)
{
    struct service_state *state = container_of(timer, struct service_state, timer);

    service_handle(state->owner, EV_EDGE_LATE);
}

void state_edges_begin(struct service *service)
{
    struct world *world = engine_world(service->engine);
    int64_t now = world->ops->now(world);

    for (size_t i = 0; i < service->state_count; i++) {
        struct service_state *state = &service->states[i];

        if (state->waits && state->config->timeout > 0 && !timer_is_set(&state->timer))
            timer_set(world->timers, &state->timer, clock_after(now, state->config->timeout),
                      on_state_late);
    }
}

static void mark_met(struct service_state *state, int64_t changed)
{
    struct service *service = state->owner;

    state->waits = false;
    state->seen = true;
    state->changed = changed;
    service->decisive = NULL;
    service->decisive_state = state;
    timer_clear(engine_world(service->engine)->timers, &state->timer);
}

/* Has the deadline passed, even if the timer has not fired yet? */
static bool is_state_edge_overdue(const struct service_state *state)
{
    struct world *world = engine_world(state->owner->engine);

    return state->config->timeout > 0 && !timer_is_set(&state->timer) &&
           world->ops->now(world) >= state->timer.deadline;
}

static enum edge_result judge_state(struct service_state *state)
{
    struct service *service = state->owner;
    const struct world_state found = find_edge_state(state);

    if (found.success) {
        mark_met(state, found.changed);
        return EDGE_RESULT_GO;
    }
    service_set_reason(service, "state %s %s", state->config->name, found.words);
    if (!is_state_edge_overdue(state))
        return EDGE_RESULT_WAIT;
    service_set_reason(service, "Dependency timeout: %s timed out waiting for state %s, which %s",
                       service->config->name, state->config->name, found.words);
    service->decisive = NULL;
    service->decisive_state = state;
    return EDGE_RESULT_LATE;
}

enum edge_result state_edges_judge(struct service *service)
{
    enum edge_result result = EDGE_RESULT_GO;

    for (size_t i = 0; i < service->state_count && result != EDGE_RESULT_LATE; i++) {
        enum edge_result one =
            service->states[i].waits ? judge_state(&service->states[i]) : EDGE_RESULT_GO;

        if (one != EDGE_RESULT_GO)
            result = one;
    }
    return result;
}

void state_edges_end(struct service *service)
{
    struct timers *timers = engine_world(service->engine)->timers;

    service->decisive_state = NULL;
    for (size_t i = 0; i < service->state_count; i++) {
        timer_clear(timers, &service->states[i].timer);
        service->states[i].waits = false;
    }
}

/* --- watching ----------------------------------------------------------------------- */

static bool needs_watch(const struct service *service)
{
    if (service->goal == GOAL_DOWN || !status_is_active(service_status(service)))
        return false;
    for (size_t i = 0; i < service->state_count; i++)
        if (service->states[i].waits || service->states[i].config->restart)
            return true;
    return false;
}

void state_edges_watch(struct service *service)
{
    struct world *world = engine_world(service->engine);
    const bool on = needs_watch(service);

    if (on == service->states_on)
        return;
    service->states_on = on;
    world->ops->watch_states(world, service->index, on);
}

/* Changes before the service's first check do not count. */
static bool has_state_changed(struct service_state *state)
{
    const struct world_state found = find_edge_state(state);
    const bool first = !state->seen;

    if (!found.success || (state->seen && found.changed <= state->changed))
        return false;
    state->seen = true;
    state->changed = found.changed;
    return !first;
}

void state_edges_follow(struct service *service)
{
    for (size_t i = 0; i < service->state_count; i++) {
        struct service_state *state = &service->states[i];
        const enum status status = service_status(service);

        if (!state->config->restart || state->waits || service->goal == GOAL_DOWN ||
            !status_is_active(status) || !has_state_changed(state))
            continue;
        state->waits = true;
        if (status_is_running(status) || status == STATUS_STARTING)
            service_because(service, "state %s changed", state->config->name);
        service_handle(service, EV_DEP_RESTART);
    }
}
