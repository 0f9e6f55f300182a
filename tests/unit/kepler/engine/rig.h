/*
 * rig - an engine with real processes, for tests.
 *
 *     struct rig *rig = rig_new(yaml, grouped);
 *     engine_start(rig->engine, ENGINE_ALL, 0);
 *     run_until(rig, is_quiet);
 *
 * What services write is in rig->log. Nothing waits for luck: run_until turns the
 * loop until something is true, and fails the test when that takes too long.
 */
#ifndef TESTS_UNIT_KEPLER_ENGINE_RIG_H
#define TESTS_UNIT_KEPLER_ENGINE_RIG_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "kepler/engine/engine.h"
#include "core/sys/filewatch.h"
#include "kepler/engine/readiness.h"
#include "kepler/supervise/real_world.h"
#include "kepler/engine/why.h"
#include "kepler/engine/why_text.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"
#include "test.h"

#define RIG __attribute__((unused)) static

#define PATIENCE (60 * CLOCK_SECOND) /* only failures take that long */
#define TICK     (5 * CLOCK_MS)
#define LOG_MAX  ((size_t)1 << 20)

struct rig;
typedef bool until_fn(struct rig *rig);

struct rig {
    struct arena arena;
    struct loop *loop;
    struct cgroup cgroup;
    struct proctree_home home;
    struct filewatch_hub files;
    struct background_tasks background_tasks;
    const struct config *config;
    struct real_world *real;
    struct engine *engine;
    struct buf log;
    until_fn *until;
    struct timer tick;
    int64_t deadline;
    bool late;
    pid_t pid; /* for conditions */
};

RIG void on_add(void *self, const void *tag, enum service_process_stream stream, struct str bytes)
{
    struct rig *rig = self;
    const struct real_tag *real = tag;

    if (bytes.n > 0)
        buf_printf(&rig->log, "%s%s%s %d: %.*s", real->name, real->phase < HOOK_PHASES ? "." : "",
                   real->phase < HOOK_PHASES ? hook_phase_name(real->phase) : "", stream,
                   STR_ARG(bytes));
}

RIG void on_note(void *self, const struct real_tag *tag, enum world_note note, const char *text)
{
    struct rig *rig = self;

    buf_printf(&rig->log, "%s %s: %s\n", tag->name, note == WORLD_WARNING ? "warning" : "note",
               text);
}

RIG void on_step(void *self)
{
    struct rig *rig = self;

    engine_step(rig->engine);
    if (rig->until && rig->until(rig))
        loop_stop(rig->loop);
}

/* Looks again now and then, for what comes without an event. */
RIG void on_tick(struct timer *timer)
{
    struct rig *rig = container_of(timer, struct rig, tick);

    rig->late = clock_now() > rig->deadline;
    if (rig->late)
        loop_stop(rig->loop);
    else
        timer_set(loop_timers(rig->loop), &rig->tick, clock_now() + TICK, on_tick);
}

RIG void print_all(struct rig *rig)
{
    AUTO_BUF struct buf text = BUF_INIT(LOG_MAX);

    for (uint32_t i = 0; i < engine_count(rig->engine); i++) {
        struct value why = why_value(&rig->arena, rig->engine, i);

        why_print(&why, &text);
    }
    (void)fprintf(stderr, "%s%s\n", buf_text(&text), buf_text(&rig->log));
}

RIG void run_until(struct rig *rig, until_fn *until)
{
    rig->until = until;
    rig->late = false;
    rig->deadline = clock_now() + PATIENCE;
    timer_set(loop_timers(rig->loop), &rig->tick, clock_now() + TICK, on_tick);
    if (!until(rig))
        loop_run(rig->loop);
    timer_clear(loop_timers(rig->loop), &rig->tick);
    if (rig->late)
        print_all(rig);
    CHECK(!rig->late);
}

RIG const char *open_group(struct rig *rig)
{
    const char *home = NULL;
    char name[64];
    struct err err;

    CHECK(cgroup_home(&rig->arena, &home, &err) == 0);
    (void)snprintf(name, sizeof(name), "supervise-test-%d", getpid());
    if (!home || cgroup_create(&rig->cgroup, home, name, &err) < 0)
        return NULL;
    return rig->cgroup.path;
}

RIG void load(struct rig *rig, const char *yaml)
{
    struct config_source source = { .path =
                                        arena_printf(&rig->arena, "%s/kepler.yaml", test_folder()),
                                    .text = str_from(yaml),
                                    .owner = { getuid(), getgid() } };
    struct diags diags = { .arena = &rig->arena };
    AUTO_BUF struct buf text = BUF_INIT(LOG_MAX);

    if (config_load(&rig->arena, &source, &rig->config, &diags) == 0)
        return;
    diags_print(&diags, &text);
    (void)fprintf(stderr, "%s\n", buf_text(&text));
    CHECK(false);
}

RIG struct rig *rig_new(const char *yaml, bool grouped)
{
    struct rig *rig = mem_zalloc(sizeof(*rig));
    struct real_world_options options = { .group = "test", .note = on_note };
    struct err err;

    rig->log.max = LOG_MAX;
    rig->cgroup = (struct cgroup)CGROUP_NONE;
    rig->loop = loop_new(&err);
    CHECK(rig->loop != NULL);
    load(rig, yaml);
    CHECK(proctree_home_init(&rig->home, rig->loop, grouped ? open_group(rig) : NULL, &err) == 0);
    filewatch_hub_init(&rig->files, rig->loop);
    options.loop = rig->loop;
    options.home = &rig->home;
    options.files = &rig->files;
    CHECK(background_tasks_open_workers(&rig->background_tasks, rig->loop,
                                        BACKGROUND_TASKS_COMPUTING, &err) == 0);
    options.background_tasks = &rig->background_tasks;
    options.config = rig->config;
    options.outputs = arena_printf(&rig->arena, "%s/outputs", test_folder());
    options.sink = (struct service_process_sink){ .self = rig, .add = on_add };
    rig->real = real_world_new(&options);
    rig->engine = engine_new(rig->config, real_world_base(rig->real), (struct event_sink){ 0 });
    loop_on_step(rig->loop, on_step, rig);
    return rig;
}

RIG void rig_free(struct rig *rig)
{
    struct err ignored;

    engine_free(rig->engine);
    real_world_free(rig->real);
    background_tasks_close(&rig->background_tasks);
    filewatch_hub_done(&rig->files);
    loop_free(rig->loop);
    if (rig->cgroup.path)
        CHECK(cgroup_remove(&rig->cgroup, &ignored) == 0);
    cgroup_done(&rig->cgroup);
    buf_done(&rig->log);
    arena_done(&rig->arena);
    free(rig);
}

RIG const struct service *first(struct rig *rig)
{
    return engine_get(rig->engine, 0);
}

RIG bool is_settled(struct rig *rig)
{
    return engine_is_settled(rig->engine, ENGINE_ALL);
}

RIG bool is_down(struct rig *rig)
{
    return engine_is_down(rig->engine, ENGINE_ALL);
}

RIG bool is_quiet(struct rig *rig)
{
    return readiness_is_quiescent(rig->engine);
}

RIG void start(struct rig *rig)
{
    engine_start(rig->engine, ENGINE_ALL, 0);
    run_until(rig, is_settled);
}

RIG void stop(struct rig *rig)
{
    engine_stop(rig->engine, ENGINE_ALL, NULL);
    run_until(rig, is_down);
}

#endif
