#include "kepler/daemon/metrics_reading.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/daemon.h"
#include "kepler/monitor/metric_search.h"
#include "core/sys/background_task.h"

struct metrics_reading {
    struct call *call; /* NULL: no longer needed */
    struct arena arena;
    struct metric_search search;
    struct background_task background_task;

    /* Owned by the worker while it runs: */
    struct usage_metrics found;
    bool cut, failed;
    struct err err;
};

struct value metrics_reading_value(struct arena *arena, const struct usage_metric *metric)
{
    struct value v = metric_value(arena, metric);

    value_map_set(arena, v.map, value_text("service"), value_text(metric->service));
    return v;
}

struct value metrics_reading_body(struct arena *arena, struct value_list *metrics, bool cut)
{
    struct value_map *body = value_map_new(arena, 2);

    value_map_set(arena, body, value_text("metrics"), value_list(metrics));
    value_map_set(arena, body, value_text("cut"), value_bool(cut));
    return value_map(body);
}

static void destroy_reading(struct metrics_reading *reading)
{
    arena_done(&reading->arena);
    free(reading);
}

void metrics_reading_free(struct metrics_reading *reading)
{
    if (reading)
        reading->call = NULL;
}

static void search_in_worker(struct background_task *background_task)
{
    struct metrics_reading *reading =
        container_of(background_task, struct metrics_reading, background_task);

    reading->failed = metric_search_run(&reading->search, &reading->arena, &reading->found,
                                        &reading->cut, &reading->err) < 0;
}

static void on_metrics_found(struct background_task *background_task)
{
    struct metrics_reading *reading =
        container_of(background_task, struct metrics_reading, background_task);
    struct call *call = reading->call;
    struct value_list *list;

    if (call) {
        call->reading = NULL;
        list = value_list_new(&reading->arena, 0);
        if (!reading->failed)
            VEC_EACH (&reading->found.list, metric)
                value_list_push(&reading->arena, list,
                                metrics_reading_value(&reading->arena, metric));
        if (reading->failed)
            call_fail(call, &reading->err);
        else
            call_finish(call, metrics_reading_body(&reading->arena, list, reading->cut));
    }
    destroy_reading(reading);
}

static void copy_search(struct metrics_reading *reading, const struct metric_search *search)
{
    const char **services = ARENA_ARRAY(&reading->arena, const char *, search->service_count + 1);

    for (size_t i = 0; i < search->service_count; i++)
        services[i] = arena_strdup(&reading->arena, search->services[i]);
    reading->search = *search;
    reading->search.services = services;
    reading->search.folder = arena_strdup(&reading->arena, search->folder);
    reading->search.filter = search->filter ? arena_strdup(&reading->arena, search->filter) : NULL;
}

void metrics_reading_begin(struct call *call, const struct metric_search *search)
{
    struct metrics_reading *reading = mem_zalloc(sizeof(*reading));

    reading->call = call;
    copy_search(reading, search);
    call->reading = reading;
    background_task_begin(search->is_sql ? &call->daemon->searchers
                                         : &call->daemon->background_tasks,
                          &reading->background_task, search_in_worker, on_metrics_found);
}
