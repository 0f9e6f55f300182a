#include "kepler/engine/edge.h"

#include "kepler/config/condition.h"
#include "kepler/engine/engine.h"
#include "kepler/engine/routine.h"
#include "kepler/engine/state_edge.h"
#include "core/sys/clock.h"

static bool is_edge_awaited(const struct service_edge *edge)
{
    return edge->wait == EDGE_CONDITION || edge->wait == EDGE_ORDER;
}

void edge_want_all(struct service *service, bool none)
{
    service->decisive = NULL;
    for (size_t i = 0; i < service->edge_count; i++)
        service->edges[i].wait = none ? EDGE_IDLE : EDGE_CONDITION;
    state_edges_want(service, none);
}

static void on_edge_late(struct timer *timer)
{
    struct service_edge *edge = container_of(timer, struct service_edge, timer);

    service_handle(edge->owner, EV_EDGE_LATE);
}

void edge_begin(struct service *service)
{
    struct world *world = engine_world(service->engine);
    int64_t now = world->ops->now(world);

    for (size_t i = 0; i < service->edge_count; i++) {
        struct service_edge *edge = &service->edges[i];

        if (edge->wait == EDGE_CONDITION && edge->config->timeout > 0 &&
            !timer_is_set(&edge->timer))
            timer_set(world->timers, &edge->timer, clock_after(now, edge->config->timeout),
                      on_edge_late);
    }
    state_edges_begin(service);
}

static void mark_edge_met(struct service_edge *edge, bool waived)
{
    edge->waived = waived;
    edge->order = edge->wait == EDGE_ORDER;
    edge->wait = EDGE_MET;
    edge->owner->decisive = edge;
    edge->owner->decisive_state = NULL;
    timer_clear(engine_world(edge->owner->engine)->timers, &edge->timer);
}

/* EDGE_ORDER needs no condition, and never keeps a service down: a dependency that ended or failed
 * meanwhile is not waited for. */
static enum condition_verdict judge_order(const struct service *target)
{
    enum status status = service_status(target);

    return status_is_running(status) || !status_is_active(status) ? CONDITION_HOLDS
                                                                  : CONDITION_WAIT;
}

static enum condition_verdict judge_edge(struct service_edge *edge)
{
    const struct config_edge *config = edge->config;
    struct condition_facts facts = service_facts(edge->target);

    if (edge->wait == EDGE_ORDER)
        return judge_order(edge->target);
    if (edge->target->tree != TREE_RUNNING && status_is_running(facts.status))
        return CONDITION_WAIT; /* its status changes soon */
    facts.unchecked = !edge->target->config->health.given && config->timeout == 0;
    buf_clear(&edge->owner->reason);
    return condition_judge(config->condition, &config->codes, config->allow_skipped, &facts,
                           &edge->owner->reason);
}

/* Has the edge's deadline passed, even if its timer has not fired yet? */
static bool is_edge_overdue(const struct service_edge *edge)
{
    struct world *world = engine_world(edge->owner->engine);

    return edge->wait == EDGE_CONDITION && edge->config->timeout > 0 &&
           !timer_is_set(&edge->timer) && world->ops->now(world) >= edge->timer.deadline;
}

static bool is_given_up(const struct service_edge *edge, enum condition_verdict verdict)
{
    return verdict == CONDITION_SKIP || is_edge_overdue(edge);
}

/* A restart passes along this edge, even if it is not waited for. */
static bool is_followed(const struct service_edge *edge)
{
    const struct service *owner = edge->owner;

    return edge->config->restart && !(owner->no_deps && routine_is_start(owner));
}

/* Will it restart in a moment, or a service whose restart it follows? Each is looked at once for
 * each number. */
static bool restarts_soon(struct service *service, uint64_t look)
{
    bool follows = service->goal == GOAL_UP && service->tree == TREE_RUNNING &&
                   status_is_running(service_status(service));

    if (service->look == look)
        return service->restarts_soon;
    service->look = look;
    service->restarts_soon = service_will_restart(service);
    for (size_t i = 0; follows && !service->restarts_soon && i < service->edge_count; i++)
        service->restarts_soon =
            service->edges[i].config->restart && restarts_soon(service->edges[i].target, look);
    return service->restarts_soon;
}

/* Bad health is what it waits for: the moment before the restart is the one that counts. */
static bool waits_for_fall(const struct service_edge *edge)
{
    return edge->wait == EDGE_CONDITION && edge->config->condition == CONDITION_UNHEALTHY;
}

/* A service that started now would be restarted again at once. */
static bool awaits_restart(struct service *service)
{
    uint64_t look = engine_look(service->engine);

    for (size_t i = 0; i < service->edge_count; i++) {
        const struct service_edge *edge = &service->edges[i];

        if (!is_followed(edge) || waits_for_fall(edge) || !restarts_soon(edge->target, look))
            continue;
        engine_look_again(service->engine, service);
        return true;
    }
    return false;
}

static enum edge_result judge_services(struct service *service)
{
    enum edge_result result = awaits_restart(service) ? EDGE_RESULT_WAIT : EDGE_RESULT_GO;

    for (size_t i = 0; i < service->edge_count; i++) {
        struct service_edge *edge = &service->edges[i];
        enum condition_verdict verdict;

        if (!is_edge_awaited(edge))
            continue;
        verdict = judge_edge(edge);
        if (verdict == CONDITION_HOLDS || (edge->config->optional && is_given_up(edge, verdict))) {
            mark_edge_met(edge, verdict != CONDITION_HOLDS);
            continue;
        }
        if (verdict == CONDITION_SKIP) {
            service->decisive = edge;
            return EDGE_RESULT_SKIP;
        }
        if (is_edge_overdue(edge)) {
            buf_clear(&service->reason);
            condition_print_timeout(edge->config->condition, service->config->name,
                                    edge->target->config->name, &service->reason);
            service->decisive = edge;
            return EDGE_RESULT_LATE;
        }
        result = EDGE_RESULT_WAIT;
    }
    return result;
}

enum edge_result edge_judge(struct service *service)
{
    enum edge_result services = judge_services(service), states;

    if (services == EDGE_RESULT_SKIP || services == EDGE_RESULT_LATE)
        return services;
    states = state_edges_judge(service);
    return states == EDGE_RESULT_GO ? services : states;
}

bool edge_has_any(const struct service *service)
{
    for (size_t i = 0; i < service->edge_count; i++)
        if (is_edge_awaited(&service->edges[i]) || is_followed(&service->edges[i]))
            return true;
    return state_edges_wait(service);
}

void edge_end(struct service *service)
{
    struct timers *timers = engine_world(service->engine)->timers;

    service->decisive = NULL;
    for (size_t i = 0; i < service->edge_count; i++) {
        timer_clear(timers, &service->edges[i].timer);
        service->edges[i].wait = EDGE_IDLE;
    }
    state_edges_end(service);
}
