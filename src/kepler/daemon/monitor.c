#include "kepler/daemon/monitor.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "kepler/config/config.h"
#include "kepler/daemon/daemon.h"
#include "kepler/daemon/project.h"
#include "kepler/engine/engine.h"
#include "kepler/logs/log_source.h"
#include "kepler/logs/log_store.h"
#include "kepler/monitor/sampler.h"
#include "kepler/supervise/real_world.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"

/* A sample no older than this answers the next request, too. */
#define FRESH (200 * CLOCK_MS)
/* Maximum bytes of one sample; more services than fit are not monitored. */
#define LOOK_MAX ((size_t)64 << 20)

struct monitor {
    struct project *project; /* NULL: no longer needed; freed when the worker is back */
    const struct config_monitor *config;
    struct timer timer;
    int64_t looked;              /* clock_now of the last look; 0: never */
    uint64_t asked, begun, done; /* tickets */
    bool due;                    /* the next look is stored */
    bool away;
    struct arena arena; /* from the last search */
    struct usage_metrics metrics;
    bool failed; /* the last write, and that was logged */

    /* Owned by the worker while it runs: */
    struct background_task background_task;
    struct sampler sampler;
    struct log_store *store;
    const char *folder;
    bool stores, sync;
    int64_t cleaned; /* clock_real */
    struct arena look_arena;
    VEC(struct sampler_target) targets;
    struct usage_metrics found;
    bool has_failed;
    struct err err;
};

struct monitor *monitor_new(struct project *project)
{
    struct monitor *monitor = mem_zalloc(sizeof(*monitor));

    monitor->project = project;
    monitor->config = &project->config->monitor;
    monitor->folder = project->metrics;
    monitor->sync = project->config->logs.sync;
    return monitor;
}

static void destroy_monitor(struct monitor *monitor)
{
    sampler_done(&monitor->sampler);
    arena_done(&monitor->look_arena);
    arena_done(&monitor->arena);
    free(monitor);
}

void monitor_free(struct monitor *monitor)
{
    if (!monitor)
        return;
    timer_clear(loop_timers(monitor->project->daemon->loop), &monitor->timer);
    monitor->project = NULL;
    if (monitor->away)
        background_task_wait(&monitor->background_task);
    log_store_free(monitor->store);
    monitor->store = NULL;
    if (!monitor->away)
        destroy_monitor(monitor);
}

/* --- in the worker -------------------------------------------------------------------------- */

static int open_store(struct monitor *monitor, struct err *err)
{
    const struct log_store_options options = {
        .max_size = (uint64_t)monitor->config->max_size,
        .max_age = monitor->config->retention_period,
        .sync = monitor->sync,
    };

    return log_store_open(monitor->folder, &options, &monitor->store, err);
}

static int write_metric(struct monitor *monitor, const struct usage_metric *metric, struct err *err)
{
    AUTO_BUF struct buf line = BUF_INIT(LOOK_MAX);
    struct log_source *source;

    if (metric_print(metric, &line, err) < 0 ||
        log_source_new(monitor->store, metric->service, NULL, SEGMENT_STDOUT, true, &source, err) <
            0)
        return -1;
    log_source_add(source, buf_view(&line));
    log_source_free(source);
    return 0;
}

static int clean_metrics_store(struct monitor *monitor, struct err *err)
{
    const int64_t now = clock_real();
    bool more;

    if (monitor->cleaned && now - monitor->cleaned < monitor->config->cleanup_interval)
        return 0;
    monitor->cleaned = now;
    return log_store_clean(monitor->store, &more, err);
}

static int store_found(struct monitor *monitor, struct err *err)
{
    if (!monitor->store && open_store(monitor, err) < 0)
        return -1;
    VEC_EACH (&monitor->found.list, metric)
        if (write_metric(monitor, metric, err) < 0)
            return -1;
    if (log_store_flush(monitor->store, err) < 0)
        return -1;
    return clean_metrics_store(monitor, err);
}

static void look_in_worker(struct background_task *background_task)
{
    struct monitor *monitor = container_of(background_task, struct monitor, background_task);

    sampler_take(&monitor->sampler, monitor->targets.p, monitor->targets.n, &monitor->look_arena,
                 &monitor->found);
    monitor->has_failed = monitor->stores && store_found(monitor, &monitor->err) < 0;
}

/* --- in the loop ---------------------------------------------------------------------------- */

static void begin_look(struct monitor *monitor);
static void on_sample_due(struct timer *timer);

static void set_sample_timer(struct monitor *monitor, int64_t pause)
{
    timer_set(loop_timers(monitor->project->daemon->loop), &monitor->timer,
              clock_after(clock_now(), pause), on_sample_due);
}

/* Logs changes only. */
static void report_failure(struct monitor *monitor)
{
    const char *path = monitor->project->path;

    if (monitor->has_failed && !monitor->failed)
        log_error("metrics cannot be stored config=%s error=%s", path, monitor->err.text);
    if (!monitor->has_failed && monitor->stores && monitor->failed)
        log_warning("metrics can be stored again config=%s", path);
    if (monitor->stores)
        monitor->failed = monitor->has_failed;
}

static void on_sample_taken(struct background_task *background_task)
{
    struct monitor *monitor = container_of(background_task, struct monitor, background_task);

    monitor->away = false;
    if (!monitor->project) {
        destroy_monitor(monitor);
        return;
    }
    report_failure(monitor);
    arena_done(&monitor->arena);
    monitor->arena = monitor->look_arena;
    monitor->look_arena = (struct arena)ARENA_INIT;
    monitor->metrics = monitor->found;
    monitor->done = monitor->begun;
    monitor->looked = clock_now();
    monitor->project->settled = true; /* a call may have waited for it */
    if (monitor->due || monitor->asked > monitor->done)
        begin_look(monitor);
}

/* Paths and names are copied for the worker: the tree may end meanwhile. */
static void list_monitor_targets(struct monitor *monitor)
{
    const struct project *project = monitor->project;
    struct arena *arena = &monitor->look_arena;

    arena_clear(arena);
    monitor->targets.p = NULL;
    monitor->targets.n = monitor->targets.cap = 0;
    for (uint32_t i = 0; i < project->config->service_count; i++) {
        const struct service *service = engine_get(project->engine, i);
        const char *group = real_world_group(project->world, i);
        struct sampler_target target = { .service = service->config->name,
                                         .pid = service->record.pid,
                                         .cgroup = group ? arena_strdup(arena, group) : NULL };

        if (target.pid > 0)
            VEC_PUSH_IN(arena, &monitor->targets, target);
    }
}

static void begin_look(struct monitor *monitor)
{
    if (monitor->away)
        return; /* the next one begins when it is back */
    list_monitor_targets(monitor);
    monitor->stores = monitor->due && monitor->targets.n > 0;
    monitor->due = false;
    monitor->begun = monitor->asked;
    monitor->away = true;
    background_task_begin(&monitor->project->daemon->background_tasks, &monitor->background_task,
                          look_in_worker, on_sample_taken);
}

/* No sampling while nothing runs. */
static void on_sample_due(struct timer *timer)
{
    struct monitor *monitor = container_of(timer, struct monitor, timer);

    if (project_running(monitor->project) == 0)
        return;
    monitor->due = true;
    begin_look(monitor);
    set_sample_timer(monitor, monitor->config->interval);
}

void monitor_wake(struct monitor *monitor)
{
    if (monitor && monitor->config->interval > 0 && !timer_is_set(&monitor->timer))
        set_sample_timer(monitor, 0);
}

uint64_t monitor_look(struct monitor *monitor)
{
    if (monitor->looked && clock_now() - monitor->looked < FRESH)
        return monitor->done;
    monitor->asked++;
    begin_look(monitor);
    return monitor->asked;
}

bool monitor_has_looked(const struct monitor *monitor, uint64_t ticket)
{
    return monitor->done >= ticket;
}

const struct usage_metrics *monitor_metrics(const struct monitor *monitor)
{
    return &monitor->metrics;
}
