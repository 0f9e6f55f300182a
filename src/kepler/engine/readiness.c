#include "kepler/engine/readiness.h"

#include "core/base/arena.h"
#include "kepler/config/condition.h"
#include "kepler/config/config.h"
#include "kepler/engine/state_edge.h"
#include "core/sys/timers.h"

static bool blocks_readiness(const struct service_edge *edge)
{
    return edge->wait == EDGE_CONDITION || edge->wait == EDGE_ORDER;
}

/* Does this service wait for something that will not come by itself? `settled` is the answer for
 * all services before it. There is hope where an edge will end by its timeout, or where a user may
 * yet start the dependency. */
static bool is_stuck(const struct service *service, const bool *settled, bool *ret_hope)
{
    bool stuck = false;

    *ret_hope = state_edges_wait(service); /* a user may run the state */
    for (size_t i = 0; i < service->edge_count; i++) {
        const struct service_edge *edge = &service->edges[i];
        struct condition_facts facts = service_facts(edge->target);

        if (!blocks_readiness(edge))
            continue;
        if (timer_is_set(&edge->timer) || condition_may_come(&facts))
            *ret_hope = true;
        if (settled[edge->target->index])
            stuck = true;
    }
    return stuck;
}

/* Is the dependency ready, and may it stay as it is forever without meeting the condition? Not if
 * it runs to its end or is about to start; if it waits, only if what it waits for may. */
static bool is_deferred(const struct service_edge *edge, const bool *ready)
{
    const struct service *target = edge->target;
    struct condition_facts facts = service_facts(target);

    if (!blocks_readiness(edge) || !ready[target->index])
        return false;
    return service_status(target) == STATUS_WAITING ||
           condition_waits_for_trouble(edge->config->condition) ||
           (edge->config->condition == CONDITION_HEALTHY && status_is_running(facts.status));
}

static bool waits_for_event(const struct service *service, const bool *ready)
{
    for (size_t i = 0; i < service->edge_count; i++)
        if (is_deferred(&service->edges[i], ready))
            return true;
    return state_edges_wait(service);
}

static bool is_checked(const struct service *service)
{
    return !service->plan.check.given || service_status(service) != STATUS_RUNNING;
}

static bool is_service_ready(const struct service *service, const bool *ready)
{
    enum status status = service_status(service);

    if (service->queued || service->due == DUE_START)
        return false;
    if (!status_is_active(status))
        return true;
    if (status_is_running(status))
        return is_checked(service) && service->tree == TREE_RUNNING &&
               (!service->routine || status != STATUS_RUNNING);
    return status == STATUS_WAITING && waits_for_event(service, ready);
}

static bool is_in_set(struct engine_set set, uint32_t index)
{
    for (size_t i = 0; i < set.count; i++)
        if (set.services[i] == index)
            return true;
    return set.count == 0;
}

bool readiness_is_ready(const struct engine *engine, struct engine_set set)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct config *config = engine_config(engine);
    bool *ready = ARENA_ARRAY(&arena, bool, config->service_count + 1);
    bool all = true;

    for (uint32_t i = 0; i < config->service_count; i++) {
        uint32_t index = config->order[i];

        ready[index] = is_service_ready(engine_get(engine, index), ready);
        if (!ready[index] && is_in_set(set, index))
            all = false;
    }
    return all;
}

static bool is_service_settled(const struct service *service, const bool *settled)
{
    enum status status = service_status(service);
    bool hope;

    if (service->queued)
        return false;
    if (!status_is_active(status))
        return service_is_idle(service);
    return status == STATUS_WAITING && is_stuck(service, settled, &hope) && !hope;
}

bool readiness_is_quiescent(const struct engine *engine)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct config *config = engine_config(engine);
    bool *settled = ARENA_ARRAY(&arena, bool, config->service_count + 1);

    for (uint32_t i = 0; i < config->service_count; i++) {
        uint32_t index = config->order[i];

        settled[index] = is_service_settled(engine_get(engine, index), settled);
        if (!settled[index])
            return false;
    }
    return true;
}

static bool has_service_ended_badly(const struct service *service)
{
    const struct service_record *record = &service->record;

    return record->status == STATUS_FAILED || record->status == STATUS_KILLED ||
           (record->status == STATUS_EXITED && record->exit_code != 0);
}

static bool is_handled_by(const struct config_edge *edge, const struct condition_facts *facts)
{
    return condition_has_codes(edge->condition) &&
           condition_holds(edge->condition, &edge->codes, facts);
}

bool readiness_is_unhandled(const struct service *service)
{
    const struct condition_facts facts = service_facts(service);

    if (!has_service_ended_badly(service))
        return false;
    for (size_t i = 0; i < service->dependent_count; i++)
        if (is_handled_by(service->dependents[i]->config, &facts))
            return false;
    return true;
}
