#include "kepler/engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "kepler/config/config.h"
#include "kepler/engine/edge.h"
#include "kepler/engine/engine_inside.h"
#include "kepler/engine/state_edge.h"
#include "kepler/engine/routine.h"

/* --- making ------------------------------------------------------------------------------ */

void engine_plan(const struct config_service *config, struct world_plan *ret_plan)
{
    const struct config_health *health = &config->health;

    *ret_plan = (struct world_plan){
        .policy = config->restart.policy,
        .check = { health->given, health->interval, health->timeout, health->start_period,
                   health->retries },
        .logs = config->logs,
        .has_watch = config->restart.watch.n > 0,
    };
}

static void init_states(struct engine *engine, struct service *service)
{
    const struct config_service *config = service->config;

    service->state_count = config->state_count;
    service->states = ARENA_ARRAY(&engine->arena, struct service_state, config->state_count);
    for (size_t i = 0; i < config->state_count; i++) {
        service->states[i].owner = service;
        service->states[i].config = &config->states[i];
    }
}

void engine_init_edges(struct engine *engine, struct service *service)
{
    const struct config_service *config = service->config;

    service->edge_count = config->edge_count;
    service->edges = ARENA_ARRAY(&engine->arena, struct service_edge, config->edge_count);
    for (size_t i = 0; i < config->edge_count; i++) {
        struct service_edge *edge = &service->edges[i];

        edge->owner = service;
        edge->config = &config->edges[i];
        edge->target = engine->services[config->edges[i].service];
    }
    init_states(engine, service);
}

void engine_init_service(struct engine *engine, uint32_t index)
{
    struct service *service = ARENA_NEW(&engine->arena, struct service);

    engine->services[index] = service;
    service->engine = engine;
    service->index = index;
    service->config = &engine->config->services[index];
    service->reason.max = service->cause.max = SERVICE_REASON_MAX;
    service->asked.max = SERVICE_ASKER_MAX;
    service->hook.error.max = HOOK_ERROR_MAX;
    service->answer.max = SERVICE_REASON_MAX;
    service->health.words.max = HEALTH_WORDS_MAX;
    engine_plan(service->config, &service->plan);
}

static void count_dependents(struct engine *engine)
{
    uint32_t count = engine->config->service_count;

    for (uint32_t i = 0; i < count; i++)
        engine->services[i]->dependent_count = 0;
    for (uint32_t i = 0; i < count; i++)
        for (size_t j = 0; j < engine->services[i]->edge_count; j++)
            engine->services[i]->edges[j].target->dependent_count++;
}

void engine_link(struct engine *engine)
{
    uint32_t count = engine->config->service_count;

    count_dependents(engine);
    for (uint32_t i = 0; i < count; i++) {
        struct service *service = engine->services[i];

        service->dependents =
            ARENA_ARRAY(&engine->arena, struct service_edge *, service->dependent_count);
        service->dependent_count = 0;
    }
    for (uint32_t i = 0; i < count; i++)
        for (size_t j = 0; j < engine->services[i]->edge_count; j++) {
            struct service_edge *edge = &engine->services[i]->edges[j];

            edge->target->dependents[edge->target->dependent_count++] = edge;
        }
}

/* --- events of the world -------------------------------------------------------------------- */

static void on_service_exited(void *self, uint32_t index, struct process_status status)
{
    struct engine *engine = self;
    struct service *service = engine->services[index];
    struct service_record *record = &service->record;

    if (service->tree != TREE_RUNNING)
        return;
    service->tree = TREE_LEFTOVERS;
    record->pid = 0;
    record->has_exit_code = status.signo == 0;
    record->exit_code = status.signo == 0 ? status.code : 0;
    record->signal = status.signo;
    if (service_status(service) == STATUS_STOPPING || service->leaving == LEAVING_TO_RESTART) {
        service_because_also(service, "; process ended: ");
        process_status_print(status, &service->cause);
    }
    service_handle(service, EV_EXITED);
}

static void on_emptied(void *self, uint32_t index)
{
    struct engine *engine = self;
    struct service *service = engine->services[index];

    if (service->tree == TREE_EMPTY)
        return;
    service->tree = TREE_EMPTY;
    service_changed(service);
    service_handle(service, EV_EMPTY);
}

static void on_task_ended(void *self, uint32_t index, enum world_task kind,
                          struct process_status status)
{
    struct engine *engine = self;

    if (kind == WORLD_HOOK)
        hook_task_ended(engine->services[index], status);
    else
        health_task_ended(engine->services[index], status);
}

static void on_service_files_changed(void *self, uint32_t index, const char *path)
{
    struct engine *engine = self;
    struct service *service = engine->services[index];

    if (!service->up || service->tree != TREE_RUNNING || service->goal == GOAL_DOWN)
        return;
    service_because(service, "a watched file changed: %s", path);
    service_handle(service, EV_FILES);
}

static void on_states_changed(void *self, uint32_t index)
{
    struct engine *engine = self;
    struct service *service = engine->services[index];

    state_edges_follow(service);
    service_changed(service);
}

static void take_world_answer(struct service *service, const struct err *err)
{
    service->asking = false;
    service_set_answer(service, err);
    service_handle(service, EV_ANSWER);
}

static void on_service_resolved(void *self, uint32_t index, const struct world_plan *plan,
                                const struct err *err)
{
    struct engine *engine = self;
    struct service *service = engine->services[index];

    if (!err)
        service->plan = *plan;
    take_world_answer(service, err);
}

static void on_outputs_kept(void *self, uint32_t index, const struct err *err)
{
    struct engine *engine = self;

    take_world_answer(engine->services[index], err);
}

static void on_step_prepared(void *self, uint32_t index, const struct world_step *step,
                             const struct err *err)
{
    struct engine *engine = self;

    hook_step_prepared(engine->services[index], step, err);
}

struct engine *engine_new(const struct config *config, struct world *world, struct event_sink sink)
{
    struct engine *engine = mem_zalloc(sizeof(*engine));

    engine->config = config;
    engine->world = world;
    engine->sink = sink;
    engine->queue_end = &engine->queue;
    engine->asker.max = SERVICE_ASKER_MAX;
    engine->services = ARENA_ARRAY(&engine->arena, struct service *, config->service_count);
    for (uint32_t i = 0; i < config->service_count; i++)
        engine_init_service(engine, i);
    for (uint32_t i = 0; i < config->service_count; i++)
        engine_init_edges(engine, engine->services[i]);
    engine_link(engine);
    world->events = (struct world_events){ .self = engine,
                                           .exited = on_service_exited,
                                           .emptied = on_emptied,
                                           .task_ended = on_task_ended,
                                           .resolved = on_service_resolved,
                                           .step_prepared = on_step_prepared,
                                           .outputs_kept = on_outputs_kept,
                                           .files_changed = on_service_files_changed,
                                           .states_changed = on_states_changed };
    return engine;
}

void engine_done_service(struct engine *engine, struct service *service)
{
    struct timers *timers = engine->world->timers;

    edge_end(service);
    timer_clear(timers, &service->pause);
    timer_clear(timers, &service->grace);
    timer_clear(timers, &service->hook.timer);
    timer_clear(timers, &service->health.timer);
    hook_done(&service->hook);
    health_done(&service->health);
    buf_done(&service->reason);
    buf_done(&service->cause);
    buf_done(&service->asked);
    buf_done(&service->answer);
}

void engine_free(struct engine *engine)
{
    if (!engine)
        return;
    for (uint32_t i = 0; i < engine->config->service_count; i++)
        engine_done_service(engine, engine->services[i]);
    buf_done(&engine->asker);
    arena_done(&engine->arena);
    free(engine);
}

/* --- telling, and the queue ------------------------------------------------------------------- */

void engine_emit(struct engine *engine, const struct service *service, struct engine_event *event)
{
    if (!engine->sink.fn)
        return;
    event->service = service->index;
    event->name = service->config->name;
    event->wall = engine->world->ops->wall(engine->world);
    if (!event->cause)
        event->cause = "";
    if (!event->reason)
        event->reason = "";
    engine->sink.fn(engine->sink.self, event);
}

void engine_queue(struct engine *engine, struct service *service)
{
    engine->dirty = true;
    if (service->queued)
        return;
    service->queued = true;
    service->queue_next = NULL;
    *engine->queue_end = service;
    engine->queue_end = &service->queue_next;
}

void engine_pass_restart(struct engine *engine, struct service *service)
{
    service->restart_news = engine->restarts = true;
    engine_queue(engine, service);
}

uint64_t engine_look(struct engine *engine)
{
    return ++engine->look;
}

void engine_look_again(struct engine *engine, struct service *service)
{
    service->look_again = engine->look_again = true;
}

static struct service *dequeue_service(struct engine *engine)
{
    struct service *service = engine->queue;

    engine->queue = service->queue_next;
    if (!engine->queue)
        engine->queue_end = &engine->queue;
    service->queued = false;
    return service;
}

/* An inactive dependent sees the new state when it is started. */
static void pass_restart_on(struct service_edge *edge)
{
    struct service *dependent = edge->owner;
    enum status status = service_status(dependent);

    if (!edge->config->restart || dependent->goal == GOAL_DOWN || !status_is_active(status) ||
        (status == STATUS_WAITING && dependent->no_deps))
        return;
    edge->wait = EDGE_CONDITION;
    if (status_is_running(status) || status == STATUS_STARTING)
        service_because_of(dependent, edge->target->restart, "dependency %s restarts",
                           edge->target->config->name);
    service_handle(dependent, EV_DEP_RESTART);
}

/* Before any edge is evaluated: services that end at the same moment and depend on each other
 * restart once each. */
static void pass_restarts_on(struct engine *engine)
{
    while (engine->restarts) {
        engine->restarts = false;
        for (struct service *service = engine->queue; service; service = service->queue_next) {
            bool news = service->restart_news;

            service->restart_news = false;
            for (size_t i = 0; news && i < service->dependent_count; i++)
                pass_restart_on(service->dependents[i]);
        }
    }
}

static void tell_neighbours(struct service *service)
{
    for (size_t i = 0; i < service->dependent_count; i++)
        service_handle(service->dependents[i]->owner, EV_EDGE);
    for (size_t i = 0; i < service->edge_count; i++)
        service_handle(service->edges[i].target, EV_TURN);
    service_handle(service, EV_EDGE);
    service_handle(service, EV_TURN);
    state_edges_watch(service);
}

/* Once everything that was stopped has ended: until then, a service may still need what the hooks
 * remove. */
static void clean_when_down(struct engine *engine)
{
    bool due = false;

    if (!engine->cleaning)
        return;
    for (uint32_t i = 0; i < engine->config->service_count; i++) {
        const struct service *service = engine->services[i];

        due = due || service->due == DUE_CLEANUP;
        if (service->goal == GOAL_DOWN && (service->routine || service->tree != TREE_EMPTY ||
                                           status_is_active(service_status(service))))
            return;
    }
    engine->cleaning = false;
    for (uint32_t i = 0; due && i < engine->config->service_count; i++)
        if (engine->services[i]->due == DUE_CLEANUP)
            service_handle(engine->services[i], EV_CLEAN);
}

/* Those that still wait ask to be looked at again. */
static void judge_again(struct engine *engine)
{
    if (!engine->look_again)
        return;
    engine->look_again = false;
    for (uint32_t i = 0; i < engine->config->service_count; i++) {
        struct service *service = engine->services[i];
        bool again = service->look_again;

        service->look_again = false;
        if (again)
            service_handle(service, EV_EDGE);
    }
}

void engine_step(struct engine *engine)
{
    const struct engine_event settled = { .kind = EVENT_SETTLED, .cause = "", .reason = "" };

    if (engine->stepping)
        return;
    engine->stepping = true;
    while (engine->dirty) {
        while (engine->queue) {
            pass_restarts_on(engine);
            tell_neighbours(dequeue_service(engine));
        }
        judge_again(engine);
        clean_when_down(engine);
        if (engine->queue)
            continue;
        engine->dirty = false;
        if (engine->sink.fn)
            engine->sink.fn(engine->sink.self, &settled);
    }
    engine->stepping = false;
}

/* --- requests ---------------------------------------------------------------------------- */

static size_t set_count(const struct engine *engine, struct engine_set set)
{
    return set.count > 0 ? set.count : engine->config->service_count;
}

static struct service *set_get(const struct engine *engine, struct engine_set set, size_t i)
{
    return engine->services[set.count > 0 ? set.services[i] : i];
}

void engine_ask_as(struct engine *engine, const char *who)
{
    buf_clear(&engine->asker);
    if (who)
        buf_printf(&engine->asker, " by %s", who);
}

const char *engine_asker(const struct engine *engine)
{
    return buf_text(&engine->asker);
}

bool engine_is_startable(const struct service *service, unsigned flags)
{
    enum status status = service_status(service);

    return !status_is_active(status) || status == STATUS_STOPPING ||
           routine_waits_for_pause(service) ||
           ((flags & ENGINE_NO_DEPS) && routine_waits_for_edges(service));
}

void engine_start(struct engine *engine, struct engine_set set, unsigned flags)
{
    engine->world->ops->begin(engine->world);
    for (size_t i = 0; i < set_count(engine, set); i++) {
        struct service *service = set_get(engine, set, i);

        service->goal = GOAL_UP;
        if (service->due == DUE_CLEANUP)
            service->due = DUE_NOTHING;
        if (!engine_is_startable(service, flags))
            continue;
        if ((flags & ENGINE_NO_DEPS) && routine_waits_for_edges(service)) {
            edge_end(service); /* it has waited long enough */
            service_changed(service);
        }
        service->no_deps = (flags & ENGINE_NO_DEPS) != 0;
        service->ignore_if = (flags & ENGINE_NAMED) != 0 && i + set.needs < set.count;
        buf_clear(&service->asked);
        buf_add_str(&service->asked, buf_view(&engine->asker));
        service_handle(service, EV_START);
    }
    engine_step(engine);
}

static void clear_stopped_logs(struct engine *engine, struct service *service)
{
    struct engine_event event = { .kind = EVENT_CLEAR_LOGS };

    if (!status_is_active(service_status(service)) && !service->keep_logs &&
        service->plan.logs.on_stop == CONFIG_CLEAR)
        engine_emit(engine, service, &event);
}

/* Mark all before the first one moves, so that each waits for its dependents. */
void engine_stop(struct engine *engine, struct engine_set set, const struct engine_stop *options)
{
    for (size_t i = 0; i < set_count(engine, set); i++) {
        struct service *service = set_get(engine, set, i);

        service->goal = GOAL_DOWN;
        if (service->due == DUE_START)
            service->due = DUE_NOTHING;
        service->stop_signal = options ? options->signal : 0;
        if (!status_is_active(service_status(service)))
            service->leaving = STAYING;
        else if (service->leaving == STAYING)
            service->leaving = LEAVING;
        service->keep_logs = options && options->keep_logs;
        clear_stopped_logs(engine, service);
    }
    for (size_t i = 0; i < set_count(engine, set); i++) {
        struct service *service = set_get(engine, set, i);

        bool clean = options && options->clean && service->record.initialized &&
                     service_status(service) != STATUS_SKIPPED;

        service->due = clean ? DUE_CLEANUP : DUE_NOTHING;
        engine->cleaning = engine->cleaning || clean;
        engine->dirty = true;
        service_handle(service, EV_STOP);
    }
    engine_step(engine);
}

bool engine_is_restartable(const struct service *service)
{
    return service->goal == GOAL_UP &&
           (status_is_running(service_status(service)) || routine_waits_for_pause(service));
}

/* Edges among services that restart together keep their order: the dependency is up before the
 * dependent. */
static void keep_order(struct service *service)
{
    for (size_t i = 0; i < service->edge_count; i++) {
        struct service_edge *edge = &service->edges[i];

        if (edge->target->leaving != STAYING && edge->target->goal == GOAL_UP)
            edge->wait = EDGE_ORDER;
    }
}

size_t engine_restart(struct engine *engine, struct engine_set set, unsigned flags)
{
    bool ordered = (flags & ENGINE_NO_DEPS) == 0;
    size_t count = 0;

    for (size_t i = 0; i < set_count(engine, set); i++) {
        struct service *service = set_get(engine, set, i);

        if (engine_is_restartable(service) && !routine_waits_for_pause(service))
            service->leaving = LEAVING;
    }
    for (size_t i = 0; i < set_count(engine, set); i++) {
        struct service *service = set_get(engine, set, i);

        if (!engine_is_restartable(service))
            continue;
        if (service->leaving != STAYING) {
            edge_end(service);
            if (ordered)
                keep_order(service);
        }
        service->ignore_if = (flags & ENGINE_NAMED) != 0;
        service_handle(service, EV_RESTART);
        count++;
    }
    engine_step(engine);
    return count;
}

/* --- queries ----------------------------------------------------------------------------- */

size_t engine_count(const struct engine *engine)
{
    return engine->config->service_count;
}

const struct service *engine_get(const struct engine *engine, uint32_t index)
{
    return engine->services[index];
}

static struct service *find_engine_service(const struct engine *engine, const char *name)
{
    for (uint32_t i = 0; i < engine->config->service_count; i++)
        if (strcmp(engine->config->services[i].name, name) == 0)
            return engine->services[i];
    return NULL;
}

const struct service *engine_find(const struct engine *engine, const char *name)
{
    return find_engine_service(engine, name);
}

const struct config *engine_config(const struct engine *engine)
{
    return engine->config;
}

struct world *engine_world(const struct engine *engine)
{
    return engine->world;
}

/* Links go by place in the book; those without a target are cut. */
static void restore_links(struct engine *engine, struct history *history,
                          const struct history_book *book)
{
    for (size_t i = 0; i < HISTORY_LENGTH; i++) {
        struct history_link *by = &history->entries[i].by;
        const struct service *service =
            by->given ? engine_find(engine, book->pages[by->service]->name) : NULL;

        by->given = service != NULL;
        by->service = service ? service->index : 0;
    }
}

void engine_restore_history(struct engine *engine, const struct history_book *book)
{
    for (size_t i = 0; i < book->count; i++) {
        struct service *service = find_engine_service(engine, book->pages[i]->name);

        if (!service)
            continue;
        service->history = *book->pages[i]->history;
        restore_links(engine, &service->history, book);
    }
}

struct history_book engine_history(const struct engine *engine, struct arena *arena)
{
    size_t count = engine_count(engine);
    struct history_page **pages = ARENA_ARRAY(arena, struct history_page *, count + 1);

    for (uint32_t i = 0; i < count; i++) {
        pages[i] = ARENA_NEW(arena, struct history_page);
        *pages[i] = (struct history_page){ engine->services[i]->config->name, i,
                                           &engine->services[i]->history };
    }
    return (struct history_book){ pages, count };
}

/* Losing the process is a change, too, unless the history has it already. */
static void note_loss(struct engine *engine, struct service *service)
{
    const struct history_entry *last = history_find(&service->history, 0);
    const struct history_entry entry = { .from = last ? last->to : STATUS_STOPPED,
                                         .to = service_status(service),
                                         .wall = engine->world->ops->wall(engine->world) };

    if (status_is_active(entry.from))
        history_add(&service->history, &entry,
                    entry.to == STATUS_STOPPED ? SERVICE_LOST : SERVICE_ENDED);
}

void engine_restore(struct engine *engine, uint32_t index, const struct service_record *record,
                    const char *reason)
{
    struct service *service = engine->services[index];

    service->record = *record;
    service->record.restarts = service->record.restarts_since_healthy = 0;
    service_set_reason(service, "%s", reason ? reason : "");
    note_loss(engine, service);
}

static bool is_down(const struct service *service)
{
    return !status_is_active(service_status(service)) && service_is_idle(service);
}

/* A dependency that has ended as required is no longer needed. */
static bool is_needed(const struct service_edge *edge)
{
    const struct config_edge *config = edge->config;
    struct condition_facts facts = service_facts(edge->target);

    return !status_is_terminal(facts.status) || condition_will_restart(&facts) ||
           !condition_holds(config->condition, &config->codes, &facts);
}

/* Walks the dependencies of those in `list`, which grows; marks what is needed. */
static size_t walk_needs(const struct engine *engine, uint32_t *list, size_t count, bool *seen,
                         bool *needed)
{
    for (size_t at = 0; at < count; at++) {
        const struct service *service = engine->services[list[at]];

        for (size_t i = 0; i < service->edge_count; i++) {
            const uint32_t target = service->edges[i].target->index;

            needed[target] = needed[target] || is_needed(&service->edges[i]);
            if (!seen[target])
                list[count++] = target;
            seen[target] = true;
        }
    }
    return count;
}

struct engine_set engine_with_needs(const struct engine *engine, struct engine_set set,
                                    struct arena *arena)
{
    const size_t most = engine_count(engine) + 1;
    uint32_t *list = ARENA_ARRAY(arena, uint32_t, most);
    bool *seen = ARENA_ARRAY(arena, bool, most), *needed = ARENA_ARRAY(arena, bool, most);
    size_t count = set.count, reached;

    for (size_t i = 0; i < set.count; i++) {
        list[i] = set.services[i];
        seen[list[i]] = true;
    }
    reached = walk_needs(engine, list, count, seen, needed);
    for (size_t i = set.count; i < reached; i++)
        if (needed[list[i]])
            list[count++] = list[i];
    return (struct engine_set){ list, count, count - set.count };
}

static bool is_in_set(struct engine_set set, uint32_t index)
{
    for (size_t i = 0; i < set.count; i++)
        if (set.services[i] == index)
            return true;
    return set.count == 0;
}

bool engine_has_others(const struct engine *engine, struct engine_set set)
{
    for (uint32_t i = 0; i < engine->config->service_count; i++)
        if (!is_in_set(set, i) && !is_down(engine->services[i]))
            return true;
    return false;
}

bool engine_is_down(const struct engine *engine, struct engine_set set)
{
    for (size_t i = 0; i < set_count(engine, set); i++)
        if (!is_down(set_get(engine, set, i)))
            return false;
    return true;
}

bool engine_is_stopped(const struct engine *engine, struct engine_set set)
{
    for (size_t i = 0; i < set_count(engine, set); i++) {
        const struct service *service = set_get(engine, set, i);
        bool again =
            service->goal == GOAL_UP && service->due != DUE_START && service->leaving == STAYING;

        if (!again && !is_down(service))
            return false;
    }
    return true;
}

bool engine_is_started(const struct engine *engine, struct engine_set set)
{
    for (size_t i = 0; i < set_count(engine, set); i++) {
        const struct service *service = set_get(engine, set, i);

        if (service->queued || service->due == DUE_START || routine_is_start(service))
            return false;
    }
    return true;
}

bool engine_is_settled(const struct engine *engine, struct engine_set set)
{
    for (size_t i = 0; i < set_count(engine, set); i++) {
        const struct service *service = set_get(engine, set, i);

        if ((service->routine && !routine_waits_for_pause(service)) || service->queued ||
            service->due == DUE_START || service->leaving != STAYING)
            return false;
    }
    return true;
}
