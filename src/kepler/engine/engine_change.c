/* A running engine goes on with another version of its config. */

#include <string.h>

#include "kepler/config/config.h"
#include "kepler/engine/edge.h"
#include "kepler/engine/engine_inside.h"

struct engine_rebase {
    struct engine *engine;
    const struct config *config; /* the new one */
    struct service **before;
    uint32_t before_count;
    uint32_t *numbers;
    bool *known; /* by new number: it was there before */
};

static bool has_same_edges(const struct engine_rebase *change, const struct service *service,
                           const struct config_service *config)
{
    if (service->edge_count != config->edge_count)
        return false;
    for (size_t i = 0; i < config->edge_count; i++) {
        const char *name = change->config->services[config->edges[i].service].name;

        if (strcmp(service->edges[i].target->config->name, name) != 0)
            return false;
    }
    return true;
}

static bool has_same_states(const struct service *service, const struct config_service *config)
{
    if (service->state_count != config->state_count)
        return false;
    for (size_t i = 0; i < config->state_count; i++)
        if (strcmp(service->states[i].config->name, config->states[i].name) != 0)
            return false;
    return true;
}

static bool keeps_edges(const struct engine_rebase *change, const struct service *service,
                        const struct config_service *config)
{
    return has_same_edges(change, service, config) && has_same_states(service, config);
}

/* Values from the start of a service stay; those read at each use are the new ones. */
static void update_plan(struct service *service)
{
    const struct config_service *config = service->config;

    if (!config->restart.computed)
        service->plan.policy = config->restart.policy;
    if (!config->logs_computed)
        service->plan.logs = config->logs;
}

static void keep_edges(struct service *service)
{
    for (size_t i = 0; i < service->edge_count; i++)
        service->edges[i].config = &service->config->edges[i];
    for (size_t i = 0; i < service->state_count; i++)
        service->states[i].config = &service->config->states[i];
}

static void match_services(struct engine_rebase *change)
{
    for (uint32_t i = 0; i < change->before_count; i++) {
        int64_t now = config_find(change->config, change->before[i]->config->name);

        change->numbers[i] = now < 0 ? ENGINE_GONE : (uint32_t)now;
        if (now >= 0)
            change->known[now] = true;
    }
}

/* Before any service has its new config: edges are compared by name. */
static bool *find_kept_edges(const struct engine_rebase *change, struct arena *arena)
{
    bool *kept = ARENA_ARRAY(arena, bool, change->before_count + 1);

    for (uint32_t i = 0; i < change->before_count; i++) {
        struct service *service = change->before[i];

        kept[i] = change->numbers[i] != ENGINE_GONE &&
                  keeps_edges(change, service, &change->config->services[change->numbers[i]]);
        if (!kept[i])
            edge_end(service);
    }
    return kept;
}

static void place_services(struct engine_rebase *change)
{
    struct engine *engine = change->engine;

    engine->services = ARENA_ARRAY(&engine->arena, struct service *, change->config->service_count);
    for (uint32_t i = 0; i < change->before_count; i++)
        if (change->numbers[i] == ENGINE_GONE)
            engine_done_service(engine, change->before[i]);
        else
            engine->services[change->numbers[i]] = change->before[i];
    for (uint32_t i = 0; i < change->config->service_count; i++)
        if (!change->known[i])
            engine_init_service(engine, i);
}

static void renew_service(struct engine_rebase *change, struct service *service, uint32_t number,
                          bool keeps)
{
    bool idle = service_is_idle(service);

    service->index = number;
    service->config = &change->config->services[number];
    if (keeps)
        keep_edges(service);
    else
        engine_init_edges(change->engine, service);
    if (idle)
        engine_plan(service->config, &service->plan);
    else
        update_plan(service);
}

/* Changes that a service refers to by number; those of a service that is gone are cut. */
static void renumber_link(const struct engine_rebase *change, struct history_link *link)
{
    uint32_t number = link->given ? change->numbers[link->service] : ENGINE_GONE;

    *link = number == ENGINE_GONE ? (struct history_link){ .given = false }
                                  : (struct history_link){ true, number, link->number };
}

static void renumber_links(const struct engine_rebase *change, struct service *service)
{
    renumber_link(change, &service->by);
    renumber_link(change, &service->restart);
    for (size_t i = 0; i < HISTORY_LENGTH; i++)
        renumber_link(change, &service->history.entries[i].by);
}

static void watch_states_again(struct engine *engine)
{
    for (uint32_t i = 0; i < engine->config->service_count; i++)
        if (engine->services[i]->states_on)
            engine->world->ops->watch_states(engine->world, i, true);
}

const uint32_t *engine_change(struct engine *engine, const struct config *config,
                              struct arena *arena)
{
    const uint32_t count = engine->config->service_count;
    struct engine_rebase change = { engine,
                                    config,
                                    engine->services,
                                    count,
                                    ARENA_ARRAY(arena, uint32_t, count + 1),
                                    ARENA_ARRAY(arena, bool, config->service_count + 1) };
    const bool *kept;

    engine_step(engine);
    match_services(&change);
    kept = find_kept_edges(&change, arena);
    engine->config = config;
    place_services(&change);
    for (uint32_t i = 0; i < count; i++)
        if (change.numbers[i] != ENGINE_GONE) {
            renumber_links(&change, change.before[i]);
            renew_service(&change, change.before[i], change.numbers[i], kept[i]);
        }
    for (uint32_t i = 0; i < config->service_count; i++)
        if (!change.known[i])
            engine_init_edges(engine, engine->services[i]);
    engine_link(engine);
    engine->world->ops->change(engine->world, config, change.numbers);
    watch_states_again(engine);
    engine->dirty = true;
    return change.numbers;
}
