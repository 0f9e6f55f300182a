#include "kepler/engine/why.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/data/time_text.h"
#include "kepler/config/condition.h"
#include "kepler/engine/engine.h"
#include "kepler/engine/routine.h"
#include "core/sys/clock.h"

#define TEXT_MAX ((size_t)4096)

struct asking {
    struct arena *arena;
    const struct engine *engine;
    bool *told; /* services that were explained already */
    size_t levels;
};

static void put_why_value(struct arena *arena, struct value_map *map, const char *key,
                          struct value v)
{
    value_map_set(arena, map, value_text(key), v);
}

static struct value make_text_or_null(struct arena *arena, const struct buf *text)
{
    return text->n > 0 ? value_str(buf_copy(text, arena)) : value_null();
}

/* --- now ---------------------------------------------------------------------------------- */

static void print_turn(const struct service *service, struct buf *out)
{
    const char *comma = "";

    buf_add_text(out, "waiting for dependents to stop first: ");
    for (size_t i = 0; i < service->dependent_count; i++) {
        const struct service *dependent = service->dependents[i]->owner;

        if (dependent->leaving == STAYING)
            continue;
        buf_printf(out, "%s%s", comma, dependent->config->name);
        comma = ", ";
    }
}

static void print_health(const struct service *service, struct buf *out)
{
    uint32_t failures = service->record.check_failures;

    if (failures == 0) {
        buf_add_text(out, "no health check has passed yet");
        return;
    }
    buf_printf(out, "health check failed %u time%s, last: ", failures, failures == 1 ? "" : "s");
    health_print_last(service, out);
}

static struct value doing_value(struct arena *arena, const struct service *service)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);

    if (hook_is_active(&service->hook))
        buf_printf(&out, "running hook %s, step %zu", hook_phase_name(service->hook.phase),
                   service->hook.step + 1);
    else if (service->asking)
        buf_add_text(&out, "evaluating expressions");
    else if (routine_waits_for_pause(service))
        buf_add_text(&out, "waiting before the next start");
    else if (routine_waits_for_edges(service) && service->look_again)
        buf_add_text(&out, "waiting until a dependency has restarted");
    else if (routine_waits_for_turn(service))
        print_turn(service, &out);
    else if (routine_waits_for_end(service))
        buf_add_text(&out, "waiting for its process to end");
    else if (service_status(service) == STATUS_RUNNING && service->plan.check.given)
        print_health(service, &out);
    return make_text_or_null(arena, &out);
}

static struct value waits_value(struct asking *asking, const struct service *service, size_t depth);

static struct value edge_value(struct asking *asking, const struct service_edge *edge, size_t depth)
{
    struct arena *arena = asking->arena;
    struct value_map *map = value_map_new(arena, 6);
    const struct service *target = edge->target;
    struct world *world = engine_world(asking->engine);
    int64_t left = edge->timer.deadline - world->ops->now(world);
    bool first = !asking->told[target->index];

    asking->told[target->index] = true;
    put_why_value(arena, map, "service", value_text(target->config->name));
    put_why_value(arena, map, "condition",
                  edge->wait == EDGE_ORDER ? value_null()
                                           : value_text(condition_name(edge->config->condition)));
    put_why_value(arena, map, "status", value_text(status_name(service_status(target))));
    put_why_value(arena, map, "doing", doing_value(arena, target));
    put_why_value(arena, map, "timeout_left",
                  timer_is_set(&edge->timer) ? value_int(left / CLOCK_SECOND) : value_null());
    put_why_value(arena, map, "waits_for",
                  first ? waits_value(asking, target, depth + 1)
                        : value_list(value_list_new(arena, 0)));
    return value_map(map);
}

static struct value make_state_answer(struct asking *asking, const struct service_state *state)
{
    struct arena *arena = asking->arena;
    struct value_map *map = value_map_new(arena, 4);
    struct world *world = engine_world(asking->engine);
    const struct world_state found =
        world->ops->find_state(world, state->owner->index, state->config->name);
    const int64_t left = state->timer.deadline - world->ops->now(world);

    put_why_value(arena, map, "state", value_text(state->config->name));
    put_why_value(arena, map, "status", value_text(arena_strdup(arena, found.words)));
    put_why_value(arena, map, "timeout_left",
                  timer_is_set(&state->timer) ? value_int(left / CLOCK_SECOND) : value_null());
    return value_map(map);
}

/* Recurses along dependencies, up to a limit. */
static struct value waits_value(struct asking *asking, const struct service *service, size_t depth)
{
    struct value_list *list = value_list_new(asking->arena, 0);

    if (!routine_waits_for_edges(service) || depth == WHY_DEPTH_MAX)
        return value_list(list);
    if (depth + 1 > asking->levels)
        asking->levels = depth + 1;
    for (size_t i = 0; i < service->edge_count; i++) {
        const struct service_edge *edge = &service->edges[i];

        if (edge->wait == EDGE_CONDITION || edge->wait == EDGE_ORDER)
            value_list_push(asking->arena, list, edge_value(asking, edge, depth));
    }
    for (size_t i = 0; i < service->state_count; i++)
        if (service->states[i].waits)
            value_list_push(asking->arena, list, make_state_answer(asking, &service->states[i]));
    return value_list(list);
}

/* --- before ------------------------------------------------------------------------------- */

static struct value_map *entry_map(struct arena *arena, const struct history_entry *entry)
{
    struct value_map *map = value_map_new(arena, 5);
    AUTO_BUF struct buf time = BUF_INIT(TEXT_MAX);

    time_print(&time, (struct value_time){ entry->wall / CLOCK_SECOND,
                                           (uint32_t)(entry->wall % CLOCK_SECOND) });
    put_why_value(arena, map, "time", value_str(buf_copy(&time, arena)));
    put_why_value(arena, map, "wall", value_int(entry->wall));
    put_why_value(arena, map, "number", value_int((int64_t)entry->number));
    put_why_value(arena, map, "from", value_text(status_name(entry->from)));
    put_why_value(arena, map, "to", value_text(status_name(entry->to)));
    put_why_value(arena, map, "cause", value_text(arena_strdup(arena, entry->cause)));
    return map;
}

/* A service came up because of the change that let it start, some entries earlier. */
static struct history_link find_history_cause(const struct history *history,
                                              const struct history_entry *entry)
{
    const struct history_entry *at = entry;

    while (at && !at->by.given && (at->to == STATUS_RUNNING || at->to == STATUS_HEALTHY))
        at = at->number > 0 ? history_get(history, at->number - 1) : NULL;
    return at ? at->by : (struct history_link){ .given = false };
}

static struct value chain_value(struct arena *arena, const struct history_book *book,
                                const struct history_entry *entry)
{
    struct value_list *list = value_list_new(arena, 0);
    struct history_link link = entry->by;

    while (link.given && list->count < WHY_DEPTH_MAX) {
        const struct history_page *page = book->pages[link.service];
        struct value_map *map;

        entry = history_get(page->history, link.number);
        map = entry ? entry_map(arena, entry) : value_map_new(arena, 1);
        put_why_value(arena, map, "service", value_text(page->name));
        value_list_push(arena, list, value_map(map));
        if (!entry)
            break; /* dropped after too many changes */
        link = find_history_cause(page->history, entry);
    }
    return value_list(list);
}

struct value why_history(struct arena *arena, const struct history_book *book,
                         const struct history *history)
{
    struct value_list *list = value_list_new(arena, HISTORY_LENGTH);
    const struct history_entry *entry;

    for (size_t back = 0; (entry = history_find(history, back)); back++) {
        struct value_map *map = entry_map(arena, entry);

        put_why_value(arena, map, "chain", chain_value(arena, book, entry));
        value_list_push(arena, list, value_map(map));
    }
    return value_list(list);
}

struct value why_value(struct arena *arena, const struct engine *engine, uint32_t index)
{
    const struct service *service = engine_get(engine, index);
    const struct service_record *record = &service->record;
    struct value_map *map = value_map_new(arena, 10);
    struct asking asking = { .arena = arena,
                             .engine = engine,
                             .told = ARENA_ARRAY(arena, bool, engine_count(engine) + 1) };
    const struct history_book book = engine_history(engine, arena);
    struct value waits = waits_value(&asking, service, 0);

    put_why_value(arena, map, "service", value_text(service->config->name));
    put_why_value(arena, map, "status", value_text(status_name(record->status)));
    put_why_value(arena, map, "reason", make_text_or_null(arena, &service->reason));
    put_why_value(arena, map, "exit_code",
                  record->has_exit_code ? value_int(record->exit_code) : value_null());
    put_why_value(arena, map, "signal",
                  record->signal > 0 ? value_int(record->signal) : value_null());
    put_why_value(arena, map, "restarts", value_int(record->restarts));
    put_why_value(arena, map, "doing", doing_value(arena, service));
    put_why_value(arena, map, "waits_for", waits);
    put_why_value(arena, map, "levels", value_int((int64_t)asking.levels));
    put_why_value(arena, map, "history", why_history(arena, &book, &service->history));
    return value_map(map);
}
