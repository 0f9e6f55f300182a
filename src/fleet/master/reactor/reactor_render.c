/* Rendering of reactions: small ones directly in the loop, all others by workers. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "fleet/master/reactor/reactor_engine.h"
#include "fleet/reactor/reaction.h"
#include "fleet/reactor/rule_set.h"
#include "core/sys/clock.h"
#include "core/sys/crash_point.h"

/* Time limit for rendering without a worker, then the same in CPU time. */
#define QUICK_NS (CLOCK_MS / 2)

/* A slot for rendering: its environment, and the current delivery. */
struct reactor_render_slot {
    struct background_task background_task;
    struct reactor_engine *engine;
    struct reaction_env *env;
    struct reactor_delivery *delivery; /* NULL: free */
    int64_t began;
};

/* --- by workers ------------------------------------------------------------------------- */

static void render_reaction(struct background_task *background_task)
{
    struct reactor_render_slot *slot =
        container_of(background_task, struct reactor_render_slot, background_task);

    slot->began = clock_now();
    (void)reaction_run_render(slot->delivery->reaction_run, slot->env);
}

static void fill_render_slots(struct reactor_engine *engine);

static void finish_rendering(struct background_task *background_task)
{
    struct reactor_render_slot *slot =
        container_of(background_task, struct reactor_render_slot, background_task);
    struct reactor_engine *engine = slot->engine;
    struct reaction_run *reaction_run = slot->delivery->reaction_run;

    metrics_observe(engine->master->metrics, MASTER_REACTOR_RENDER,
                    (double)(clock_now() - slot->began) / (double)CLOCK_SECOND, NULL, NULL);
    slot->delivery = NULL;
    crash_point("reaction-rendered");
    if (engine->is_stopping)
        reaction_run_postpone(reaction_run);
    else
        reaction_run_rendered(reaction_run);
    fill_render_slots(engine);
}

static void begin_rendering(struct reactor_render_slot *slot, struct reactor_delivery *delivery)
{
    slot->delivery = delivery;
    background_task_begin(&slot->engine->background_tasks, &slot->background_task, render_reaction,
                          finish_rendering);
}

static struct reactor_delivery *take_queued(struct reactor_engine *engine)
{
    struct reactor_delivery *delivery = engine->queued;

    if (!delivery)
        return NULL;
    engine->queued = delivery->queue_next;
    if (!engine->queued)
        engine->queue = &engine->queued;
    delivery->queue_next = NULL;
    return delivery;
}

static void fill_render_slots(struct reactor_engine *engine)
{
    for (size_t i = 0; i < engine->slot_count && !engine->is_stopping; i++) {
        struct reactor_delivery *delivery;

        if (engine->slots[i].delivery)
            continue;
        delivery = take_queued(engine);
        if (!delivery)
            return;
        begin_rendering(&engine->slots[i], delivery);
    }
}

/* --- in the loop ------------------------------------------------------------------------ */

/* Reading CPU time is a system call, so it is read only when the wall clock is over the limit: this
 * thread may have waited for a CPU. */
static bool is_quick_over(void *user)
{
    struct reactor_engine *engine = user;

    if (clock_now() < engine->quick_early)
        return false;
    if (engine->quick_until == 0)
        engine->quick_until = clock_after(clock_thread(), QUICK_NS);
    return clock_thread() >= engine->quick_until;
}

/* May it be rendered in the loop? Only a small event, and a small template that only fills in
 * values. */
static bool may_be_quick(const struct reactor_engine *engine,
                         const struct reactor_delivery *delivery)
{
    const struct rule_file *file = reaction_run_file(delivery->reaction_run);

    if (!delivery->is_small || file->text.n > REACTOR_QUICK_MAX ||
        str_find(file->text, STR("{%"), 0) != STR_NONE)
        return false;
    VEC_EACH (&engine->slow, slow)
        if (*slow == file)
            return false;
    return true;
}

/* Handing over to a worker and back takes longer than most renderings. A worker gets failed or slow
 * ones; a file is too slow only once. */
static bool render_quickly(struct reactor_engine *engine, const struct reactor_delivery *delivery)
{
    const int64_t began = clock_now();
    bool is_right;

    if (!may_be_quick(engine, delivery))
        return false;
    engine->quick_early = clock_after(began, QUICK_NS);
    engine->quick_until = 0;
    is_right = reaction_run_render(delivery->reaction_run, engine->quick);
    if (is_quick_over(engine))
        VEC_PUSH(&engine->slow, reaction_run_file(delivery->reaction_run));
    if (is_right)
        metrics_observe(engine->master->metrics, MASTER_REACTOR_RENDER,
                        (double)(clock_now() - began) / (double)CLOCK_SECOND, NULL, NULL);
    return is_right;
}

void reactor_render(void *user, struct reaction_run *reaction_run)
{
    struct reactor_engine *engine = user;
    struct reactor_delivery *delivery = reaction_run_message(reaction_run);

    if (engine->is_stopping) {
        reaction_run_postpone(reaction_run);
        return;
    }
    if (render_quickly(engine, delivery)) {
        crash_point("reaction-rendered");
        reaction_run_rendered(reaction_run);
        return;
    }
    *engine->queue = delivery;
    engine->queue = &delivery->queue_next;
    fill_render_slots(engine);
}

/* --- life ------------------------------------------------------------------------------- */

void reactor_open_renderings(struct reactor_engine *engine)
{
    const struct reaction_options options = {
        .now = reactor_monotonic,
        .is_stopped = reactor_is_stopping,
        .user = engine,
    };

    engine->slot_count = (size_t)engine->master->conf.reactor_workers * REACTOR_SLOTS_EACH;
    engine->slots = mem_zalloc(mem_product(engine->slot_count, sizeof(*engine->slots)));
    for (size_t i = 0; i < engine->slot_count; i++)
        engine->slots[i] =
            (struct reactor_render_slot){ .engine = engine, .env = reaction_env_new(&options) };
    engine->quick =
        reaction_env_new(&(struct reaction_options){ .is_stopped = is_quick_over, .user = engine });
}

void reactor_free_renderings(struct reactor_engine *engine)
{
    for (size_t i = 0; i < engine->slot_count; i++)
        reaction_env_free(engine->slots[i].env);
    free(engine->slots);
    engine->slots = NULL;
    reaction_env_free(engine->quick);
    engine->quick = NULL;
    free(engine->slow.p);
    engine->slow.p = NULL;
    engine->slow.n = engine->slow.cap = 0;
    engine->slot_count = 0;
}

void reactor_end_renderings(struct reactor_engine *engine)
{
    struct reactor_delivery *delivery;

    while ((delivery = take_queued(engine)))
        reaction_run_postpone(delivery->reaction_run);
    background_tasks_close(&engine->background_tasks); /* waits, and finishes each */
}
