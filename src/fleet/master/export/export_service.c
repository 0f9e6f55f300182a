/*
 * The service "export": sends events and job results to webhooks, as configured by `export`.
 *
 * Each exporter has a lease, whose holder pulls from its consumers; other masters take over. The
 * consumers of a removed exporter are deleted at the reload, or by the next master that finds
 * unused ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "fleet/bus/store.h"
#include "fleet/master/export/export_conf.h"
#include "fleet/master/export/export_feed.h"
#include "fleet/master/lease.h"
#include "fleet/master/services.h"
#include "fleet/nats/consumer.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

/* Each feed waits only for its own receiver. There are at most as many threads as waiting feeds. */
#define WORKERS (EXPORTERS_MAX * EXPORT_KINDS)
#define TICK_NS (5 * CLOCK_SECOND)
/* By then, masters with an exporter hold its lease. */
#define ORPHANS_NS (20 * CLOCK_SECOND)
/* A receiver down for this long makes the master degraded. */
#define FAILING_NS (60 * CLOCK_SECOND)

struct exporter {
    struct export_service *service;
    struct exporter *next;
    char name[EXPORT_NAME_MAX + 1];
    char key[sizeof(FEED_CONSUMER) + EXPORT_NAME_MAX]; /* of its lease */
    const struct export_conf *conf;
    struct lease lease;
    struct export_feed feeds[EXPORT_KINDS];
    bool is_gone;
};

struct export_service {
    struct master *master;
    struct background_tasks background_tasks;
    struct arena arena; /* of the configuration */
    struct export_confs confs;
    struct exporter *first; /* including removed ones with pending calls */
    struct nats_listener bus;
    struct timer tick, orphans;
    bool is_started;
};

static bool is_export_configured(const struct export_conf *conf, enum export_kind kind)
{
    return kind == EXPORT_EVENTS ? conf->match.n > 0 : conf->jobs;
}

/* --- one exporter ----------------------------------------------------------------------- */

static bool is_exporter_busy(const struct exporter *exporter)
{
    for (size_t i = 0; i < EXPORT_KINDS; i++)
        if (exporter->feeds[i].under_way > 0)
            return true;
    return false;
}

static void free_if_gone(struct exporter *exporter)
{
    if (!exporter->is_gone || is_exporter_busy(exporter))
        return;
    for (struct exporter **at = &exporter->service->first; *at; at = &(*at)->next)
        if (*at == exporter) {
            *at = exporter->next;
            break;
        }
    free(exporter);
}

static void on_came_back(void *self)
{
    free_if_gone(self);
}

static void on_feed_measured(void *self)
{
    const struct exporter *exporter = self;
    double lag = 0;

    for (size_t i = 0; i < EXPORT_KINDS; i++)
        lag += (double)exporter->feeds[i].pending;
    metrics_set(exporter->service->master->metrics, MASTER_EXPORT_LAG, lag, exporter->name, NULL);
}

static void on_export_consumer_deleted(void *self, const struct nats_error *error)
{
    const char *name = self;

    if (!error)
        log_info("export '%s': deleted an unused consumer", name);
    else if (error->fault != NATS_FAULT_NOT_FOUND && error->fault != NATS_FAULT_CANCELED)
        log_warning("export '%s': cannot delete an unused consumer: %s", name, error->text);
    free(self);
}

static void delete_consumer(const struct export_service *service, enum export_kind kind,
                            const char *name)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char *copy = mem_strdup(name);
    struct err err;

    if (nats_consumer_delete(&service->master->js, export_feed_stream(kind),
                             arena_printf(&arena, FEED_CONSUMER "%s", name),
                             on_export_consumer_deleted, copy, &err) < 0)
        free(copy);
}

static void on_export_lease_got(struct lease *lease)
{
    struct exporter *exporter = container_of(lease, struct exporter, lease);

    for (size_t i = 0; i < EXPORT_KINDS; i++)
        if (is_export_configured(exporter->conf, (enum export_kind)i))
            export_feed_start(&exporter->feeds[i]);
        else
            delete_consumer(exporter->service, (enum export_kind)i, exporter->name);
}

static void stop_feeds(struct exporter *exporter)
{
    for (size_t i = 0; i < EXPORT_KINDS; i++)
        export_feed_stop(&exporter->feeds[i]);
    metrics_set(exporter->service->master->metrics, MASTER_EXPORT_LAG, 0, exporter->name, NULL);
}

static void on_export_lease_lost(struct lease *lease)
{
    stop_feeds(container_of(lease, struct exporter, lease));
}

static void set_conf(struct exporter *exporter, const struct export_conf *conf)
{
    exporter->conf = conf;
    for (size_t i = 0; i < EXPORT_KINDS; i++)
        exporter->feeds[i].conf = conf;
}

static void begin_exporter(struct export_service *service, const struct export_conf *conf)
{
    struct exporter *exporter = mem_zalloc(sizeof(*exporter));

    exporter->service = service;
    (void)snprintf(exporter->name, sizeof(exporter->name), "%s", conf->name);
    (void)snprintf(exporter->key, sizeof(exporter->key), FEED_CONSUMER "%s", exporter->name);
    for (size_t i = 0; i < EXPORT_KINDS; i++)
        export_feed_init(&exporter->feeds[i], &(struct export_feed_options){
                                                  .js = service->master->js,
                                                  .background_tasks = &service->background_tasks,
                                                  .metrics = service->master->metrics,
                                                  .name = exporter->name,
                                                  .kind = (enum export_kind)i,
                                                  .came_back = on_came_back,
                                                  .measured = on_feed_measured,
                                                  .self = exporter });
    set_conf(exporter, conf);
    exporter->lease = (struct lease){ .js = service->master->js,
                                      .key = exporter->key,
                                      .holder = service->master->id,
                                      .got = on_export_lease_got,
                                      .lost = on_export_lease_lost };
    exporter->next = service->first;
    service->first = exporter;
    lease_start(&exporter->lease);
}

static void end_exporter(struct exporter *exporter)
{
    if (exporter->is_gone)
        return;
    stop_feeds(exporter);
    (void)lease_stop(&exporter->lease, NULL, NULL);
    exporter->is_gone = true;
}

/* May free the exporter. */
static void remove_exporter(struct exporter *exporter)
{
    end_exporter(exporter);
    for (size_t i = 0; i < EXPORT_KINDS; i++)
        delete_consumer(exporter->service, (enum export_kind)i, exporter->name);
    free_if_gone(exporter);
}

/* --- the configuration ------------------------------------------------------------------ */

static const struct exporter *find_exporter(const struct export_service *service, const char *name)
{
    for (const struct exporter *exporter = service->first; exporter; exporter = exporter->next)
        if (!exporter->is_gone && strcmp(exporter->name, name) == 0)
            return exporter;
    return NULL;
}

/* Requests in progress have copies of their data. */
static void change_exporter(struct exporter *exporter, const struct export_conf *conf)
{
    const bool is_held = lease_is_held(&exporter->lease);

    if (is_held)
        stop_feeds(exporter);
    set_conf(exporter, conf);
    if (is_held)
        on_export_lease_got(&exporter->lease);
}

static void change_exporters(struct export_service *service, const struct export_confs *confs)
{
    struct exporter *next;

    for (struct exporter *exporter = service->first; exporter; exporter = next) {
        const struct export_conf *conf = export_conf_find(confs, exporter->name);

        next = exporter->next;
        if (exporter->is_gone)
            continue;
        if (conf)
            change_exporter(exporter, conf);
        else
            remove_exporter(exporter);
    }
    VEC_EACH (&confs->list, conf)
        if (!find_exporter(service, conf->name))
            begin_exporter(service, conf);
}

/* The file was checked before it became the configuration. */
static void read_export_confs(struct export_service *service, struct arena *arena,
                              struct export_confs *ret)
{
    struct diags ignored = DIAGS_INIT(arena);
    struct value copy;

    *ret = (struct export_confs){ 0 };
    if (!service->master->conf.exports)
        return;
    copy = value_copy(arena, service->master->conf.exports);
    (void)export_conf_read(arena, &copy, ret, &ignored);
}

static void reload_export_service(void *self)
{
    struct export_service *service = self;
    struct arena arena = ARENA_INIT;
    struct export_confs confs;

    if (!service->is_started)
        return;
    read_export_confs(service, &arena, &confs);
    change_exporters(service, &confs);
    arena_done(&service->arena);
    service->arena = arena;
    service->confs = confs;
}

/* --- unused consumers ------------------------------------------------------------------- */

/* A consumer without an exporter here; another master may have it. */
struct orphan {
    struct export_service *service;
    enum export_kind kind;
    char name[EXPORT_NAME_MAX + 1];
};

static void on_lease(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct orphan *orphan = self;

    (void)entry;
    if (error && error->fault == NATS_FAULT_NOT_FOUND && orphan->service->is_started &&
        !find_exporter(orphan->service, orphan->name))
        delete_consumer(orphan->service, orphan->kind, orphan->name);
    free(orphan);
}

static void ask_lease(struct export_service *service, enum export_kind kind, struct str name)
{
    const struct nats_kv kv = { .js = service->master->js,
                                .bucket = store_bucket_name(STORE_LEASES),
                                .indirect = true };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct orphan *orphan = mem_zalloc(sizeof(*orphan));
    struct err err;

    orphan->service = service;
    orphan->kind = kind;
    memcpy(orphan->name, name.p, name.n);
    if (find_exporter(service, orphan->name) ||
        nats_kv_get(&kv, arena_printf(&arena, FEED_CONSUMER "%s", orphan->name), on_lease, orphan,
                    &err) < 0)
        free(orphan);
}

struct listing {
    struct export_service *service;
    enum export_kind kind;
};

static void on_names(void *self, const struct nats_error *error, const struct value *reply)
{
    struct listing *listing = self;
    const struct value *names = error ? NULL : value_get(reply, "consumers");

    for (size_t i = 0;
         listing->service->is_started && value_is(names, VALUE_LIST) && i < names->list->count;
         i++) {
        const struct value *item = &names->list->items[i];
        struct str name;

        if (item->kind != VALUE_STR || !str_starts(item->s, STR(FEED_CONSUMER)))
            continue;
        name = str_from_offset(item->s, sizeof(FEED_CONSUMER) - 1);
        if (name.n > 0 && name.n <= EXPORT_NAME_MAX)
            ask_lease(listing->service, listing->kind, name);
    }
    free(listing);
}

static void on_orphans(struct timer *timer)
{
    struct export_service *service = container_of(timer, struct export_service, orphans);

    for (size_t i = 0; i < EXPORT_KINDS; i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct listing *listing = mem_zalloc(sizeof(*listing));
        struct err err;

        *listing = (struct listing){ service, (enum export_kind)i };
        if (nats_js_call(
                &service->master->js,
                arena_printf(&arena, "CONSUMER.NAMES.%s", export_feed_stream((enum export_kind)i)),
                STR("{}"), on_names, listing, &err) < 0)
            free(listing);
    }
}

/* --- health and metrics ----------------------------------------------------------------- */

static void on_export_tick(struct timer *timer)
{
    struct export_service *service = container_of(timer, struct export_service, tick);

    for (struct exporter *exporter = service->first; exporter; exporter = exporter->next)
        for (size_t i = 0; i < EXPORT_KINDS; i++)
            export_feed_measure(&exporter->feeds[i]);
    timer_set(loop_timers(service->master->loop), timer, clock_after(clock_now(), TICK_NS),
              on_export_tick);
}

static enum health_status check_export_service(void *self, char message[static HEALTH_TEXT_MAX])
{
    const struct export_service *service = self;

    for (const struct exporter *exporter = service->first; exporter; exporter = exporter->next)
        for (size_t i = 0; i < EXPORT_KINDS; i++) {
            const struct export_feed *feed = &exporter->feeds[i];

            if (!feed->failing_since || clock_now() - feed->failing_since < FAILING_NS)
                continue;
            (void)snprintf(message, HEALTH_TEXT_MAX, "'%s' has accepted nothing for %lld s: %.512s",
                           exporter->name,
                           (long long)((clock_now() - feed->failing_since) / CLOCK_SECOND),
                           feed->problem.text);
            return HEALTH_DEGRADED;
        }
    return HEALTH_OK;
}

/* --- life ------------------------------------------------------------------------------- */

static void *open_export_service(struct master *master, struct err *err)
{
    struct export_service *service = mem_zalloc(sizeof(*service));

    service->master = master;
    if (background_tasks_open_workers(&service->background_tasks, master->loop, WORKERS, err) < 0) {
        free(service);
        return NULL;
    }
    return service;
}

static void on_export_bus_event(struct nats_listener *listener, const struct nats_event *event)
{
    const struct export_service *service = container_of(listener, struct export_service, bus);

    if (event->kind != NATS_EVENT_CONNECTED)
        return;
    for (struct exporter *exporter = service->first; exporter; exporter = exporter->next)
        for (size_t i = 0; i < EXPORT_KINDS; i++)
            export_feed_check(&exporter->feeds[i]);
}

static int start_export_service(void *self, struct err *err)
{
    struct export_service *service = self;
    struct timers *timers = loop_timers(service->master->loop);

    (void)err;
    service->is_started = true;
    nats_listen(service->master->js.conn, &service->bus, on_export_bus_event);
    read_export_confs(service, &service->arena, &service->confs);
    change_exporters(service, &service->confs);
    timer_set(timers, &service->orphans, clock_after(clock_now(), ORPHANS_NS), on_orphans);
    timer_set(timers, &service->tick, clock_after(clock_now(), TICK_NS), on_export_tick);
    return 0;
}

static void stop_export_service(void *self)
{
    struct export_service *service = self;

    service->is_started = false;
    nats_unlisten(service->master->js.conn, &service->bus);
    timer_clear(loop_timers(service->master->loop), &service->tick);
    timer_clear(loop_timers(service->master->loop), &service->orphans);
    for (struct exporter *exporter = service->first; exporter; exporter = exporter->next)
        end_exporter(exporter);
}

static void free_export_service(void *self)
{
    struct export_service *service = self;

    background_tasks_close(
        &service->background_tasks); /* waits for running tasks, and hands them back */
    while (service->first) {
        struct exporter *exporter = service->first;

        service->first = exporter->next;
        free(exporter);
    }
    arena_done(&service->arena);
    free(service);
}

const struct master_service master_export_service = {
    .name = "export",
    .open = open_export_service,
    .start = start_export_service,
    .stop = stop_export_service,
    .free = free_export_service,
    .reload = reload_export_service,
    .check = check_export_service,
};
