/*
 * The service "presence": announces _master/peel/<id>/online and offline.
 *
 * The holder of the lease decides. Each change is first recorded by CAS, then announced, with an id
 * derived from the record's revision: a master that takes over sends pending events under the same
 * id. No peel is declared offline before this master has listened for `presence.grace` after it got
 * the lease and after a reconnect.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "core/data/time_text.h"
#include "fleet/master/announce.h"
#include "fleet/master/lease.h"
#include "fleet/master/peels/roster.h"
#include "fleet/master/services.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/presence.h"

#define LEASE   "presence"
#define TICK_NS CLOCK_SECOND
/* Concurrent record writes; the others wait for the next round. */
#define WRITES_MAX 1024
#define RECORD_MAX 256

/* A peel, with its recorded presence. */
struct seen_peel {
    struct presence_service *service;
    struct presence presence, next; /* `next` is being written */
    uint64_t revision;              /* 0: not recorded */
    bool is_busy;                   /* a write or an event is pending */
    bool is_gone;                   /* forget it after that */
    char peel[];
};

struct presence_service {
    struct master *master;
    struct lease lease;
    struct nats_listener bus;
    struct timer timer;
    struct nats_kv_watch *watch; /* while the lease is held */
    struct map peels;            /* by peel */
    int64_t listening_since;     /* clock_now */
    size_t writes;               /* under way */
    bool is_read;                /* all records are read */
    bool has_begun;              /* PRESENCE_BEGAN is stored */
};

static struct nats_kv get_presence_bucket(const struct presence_service *service)
{
    return (struct nats_kv){ .js = service->master->js,
                             .bucket = store_bucket_name(STORE_PEEL_PRESENCE) };
}

static struct value_time make_presence_time(int64_t ns)
{
    return (struct value_time){ ns / CLOCK_SECOND, (uint32_t)(ns % CLOCK_SECOND) };
}

/* --- records ---------------------------------------------------------------------------- */

static struct seen_peel *take_seen_peel(struct presence_service *service, struct str peel)
{
    struct seen_peel *seen_peel = map_find(&service->peels, peel);

    if (seen_peel)
        return seen_peel;
    seen_peel = mem_zalloc(sizeof(*seen_peel) + peel.n + 1);
    seen_peel->service = service;
    memcpy(seen_peel->peel, peel.p, peel.n);
    (void)map_set(&service->peels, str_from(seen_peel->peel), seen_peel);
    return seen_peel;
}

static void forget_seen_peel(struct presence_service *service, struct seen_peel *seen_peel)
{
    (void)map_remove(&service->peels, str_from(seen_peel->peel));
    if (seen_peel->is_busy)
        seen_peel->is_gone = true; /* freed by its callback */
    else
        free(seen_peel);
}

static void forget_seen_peels(struct presence_service *service)
{
    for (struct map_entry *entry; (entry = map_next(&service->peels, NULL));)
        forget_seen_peel(service, entry->value);
}

/* A pending operation has ended. False: the peel is no longer needed. */
static bool settle_seen_peel(struct seen_peel *seen_peel)
{
    seen_peel->service->writes--;
    seen_peel->is_busy = false;
    if (!seen_peel->is_gone)
        return true;
    free(seen_peel);
    return false;
}

static void on_presence_record(void *self, const struct nats_kv_entry *entry)
{
    struct presence_service *service = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct presence presence;
    struct seen_peel *seen_peel;
    struct err err;

    if (str_is(entry->key, PRESENCE_BEGAN))
        service->has_begun = entry->change == NATS_KV_PUT;
    if (!peel_id_is_valid(entry->key))
        return;
    if (entry->change != NATS_KV_PUT) {
        seen_peel = map_find(&service->peels, entry->key);
        if (seen_peel)
            forget_seen_peel(service, seen_peel);
        return;
    }
    if (record_decode(&arena, &presence_type, 1, entry->value, &presence, &err) < 0)
        return;
    seen_peel = take_seen_peel(service, entry->key);
    if (entry->revision > seen_peel->revision) {
        seen_peel->presence = presence;
        seen_peel->revision = entry->revision;
    }
}

static void on_records_read(void *self)
{
    ((struct presence_service *)self)->is_read = true;
}

static void on_presence_watch_failed(void *self, const struct nats_error *error)
{
    (void)self;
    if (error->fault != NATS_FAULT_CANCELED)
        log_warning("presence cannot be watched error=%s", error->text);
}

/* --- a change --------------------------------------------------------------------------- */

static int write_presence(struct seen_peel *seen_peel, const struct presence *presence,
                          nats_kv_revision_fn *fn, struct err *err)
{
    const struct nats_kv kv = get_presence_bucket(seen_peel->service);
    AUTO_BUF struct buf bytes = BUF_INIT(RECORD_MAX);
    int result = record_encode(&bytes, &presence_type, presence, err);

    if (result == 0)
        result = seen_peel->revision == 0
                     ? nats_kv_create(&kv, seen_peel->peel, buf_view(&bytes), fn, seen_peel, err)
                     : nats_kv_update(&kv, seen_peel->peel, buf_view(&bytes), seen_peel->revision,
                                      fn, seen_peel, err);
    if (result < 0)
        return -1;
    seen_peel->next = *presence;
    seen_peel->is_busy = true;
    seen_peel->service->writes++;
    return 0;
}

/* After any failure, the next round reads the record and retries. */
static void on_presence_written(void *self, const struct nats_error *error, uint64_t revision)
{
    struct seen_peel *seen_peel = self;

    if (!error) {
        seen_peel->presence = seen_peel->next;
        seen_peel->revision = revision;
    } else if (error->fault != NATS_FAULT_CONFLICT && error->fault != NATS_FAULT_CANCELED) {
        log_warning("presence cannot be stored peel=%s error=%s", seen_peel->peel, error->text);
    }
    (void)settle_seen_peel(seen_peel);
}

static void on_presence_event_stored(void *self, const struct nats_error *error,
                                     const struct nats_stored_ack *ack)
{
    struct seen_peel *seen_peel = self;
    struct presence presence = seen_peel->presence;
    struct err err;

    (void)ack;
    if (!settle_seen_peel(seen_peel) || error)
        return;
    presence.owed = false;
    if (write_presence(seen_peel, &presence, on_presence_written, &err) < 0)
        log_warning("presence cannot be stored peel=%s error=%s", seen_peel->peel, err.text);
}

static void put_time(struct arena *arena, struct value *map, const char *key,
                     struct value_time time)
{
    AUTO_BUF struct buf text = BUF_INIT(64);

    if (time.seconds == 0)
        return;
    time_print(&text, (struct value_time){ time.seconds, 0 });
    value_map_set(arena, map->map, value_text(key), value_text(buf_copy(&text, arena).p));
}

static void send_presence_event(struct seen_peel *seen_peel)
{
    const struct presence *presence = &seen_peel->presence;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value data = value_map(value_map_new(&arena, 3));
    struct err err;

    value_map_set(&arena, data.map, value_text("peel"), value_text(seen_peel->peel));
    put_time(&arena, &data, "since", presence->since);
    put_time(&arena, &data, "last_seen", presence->seen);
    if (announce_event(
            seen_peel->service->master,
            &(struct announcement){
                .tag = arena_printf(&arena, "peel/%s/%s", seen_peel->peel,
                                    presence_state_name(presence->state)),
                .data = data,
                .about = arena_printf(&arena, "%llu", (unsigned long long)seen_peel->revision),
                .seconds = presence->since.seconds,
                .stored = on_presence_event_stored,
                .self = seen_peel },
            &err) < 0)
        return; /* too many pending: next round */
    seen_peel->is_busy = true;
    seen_peel->service->writes++;
}

/* --- a round ---------------------------------------------------------------------------- */

static void record_change(struct seen_peel *seen_peel, enum presence_state state, int64_t seen)
{
    struct presence_service *service = seen_peel->service;
    const int64_t wall = bus_time();
    const bool is_new = seen_peel->revision == 0;
    struct presence presence = {
        .state = state,
        .since = make_presence_time(wall),
        /* a peel that was there at the start, or was never seen, has not changed */
        .owed = is_new ? service->has_begun && state == PRESENCE_ONLINE : true,
    };
    struct err err;

    if (state == PRESENCE_OFFLINE)
        presence.seen = make_presence_time(seen > 0 ? wall - (clock_now() - seen) : wall);
    log_info("peel is %s peel=%s", presence_state_name(state), seen_peel->peel);
    if (write_presence(seen_peel, &presence, on_presence_written, &err) < 0)
        log_warning("presence cannot be stored peel=%s error=%s", seen_peel->peel, err.text);
}

static void judge_presence(void *self, struct str peel, int64_t seen)
{
    struct presence_service *service = self;
    struct seen_peel *seen_peel = take_seen_peel(service, peel);
    enum presence_state state;

    if (seen_peel->is_busy || service->writes >= WRITES_MAX)
        return;
    if (seen_peel->revision > 0 && seen_peel->presence.owed)
        send_presence_event(seen_peel);
    else if (presence_changes(
                 &(struct presence_view){ .recorded =
                                              seen_peel->revision ? &seen_peel->presence : NULL,
                                          .seen = seen,
                                          .listening_since = service->listening_since,
                                          .now = clock_now(),
                                          .grace = service->master->conf.presence_grace },
                 &state))
        record_change(seen_peel, state, seen);
}

static void on_presence_removed(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)self;
    (void)revision;
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_warning("presence cannot be removed error=%s", error->text);
}

/* Peels without facts have left the fleet, which is not going offline. */
static void drop_strangers(struct presence_service *service)
{
    const struct nats_kv kv = get_presence_bucket(service);
    const struct roster *roster = master_roster(service->master);
    struct err err;

    MAP_EACH (&service->peels, entry) {
        const struct seen_peel *seen_peel = entry->value;

        if (!seen_peel->is_busy && !roster_facts(roster, entry->key) && seen_peel->revision > 0 &&
            nats_kv_purge(&kv, seen_peel->peel, seen_peel->revision, on_presence_removed, service,
                          &err) < 0)
            log_warning("presence cannot be removed peel=%s error=%s", seen_peel->peel, err.text);
    }
}

static void on_first_presence_written(void *self, const struct nats_error *error, uint64_t revision)
{
    struct presence_service *service = self;

    (void)revision;
    service->writes--;
    service->has_begun = !error;
    if (!error)
        log_info("started recording the presence of peels");
}

/* Once in the life of a fleet: existing peels are recorded without events. */
static void begin_records(struct presence_service *service)
{
    const struct nats_kv kv = get_presence_bucket(service);
    struct err err;

    if (service->has_begun || service->writes > 0)
        return;
    if (nats_kv_put(&kv, PRESENCE_BEGAN, STR("1"), on_first_presence_written, service, &err) == 0)
        service->writes++;
}

static void on_presence_tick(struct timer *timer)
{
    struct presence_service *service = container_of(timer, struct presence_service, timer);
    const struct roster *roster = master_roster(service->master);

    timer_set(loop_timers(service->master->loop), timer, clock_after(clock_now(), TICK_NS),
              on_presence_tick);
    if (!lease_is_held(&service->lease) || !service->is_read || !roster ||
        !roster_is_seeded(roster) ||
        nats_conn_state(service->master->js.conn) != NATS_CONN_CONNECTED)
        return;
    roster_each(roster, judge_presence, service);
    drop_strangers(service);
    begin_records(service);
}

/* --- life ------------------------------------------------------------------------------- */

static void close_records(struct presence_service *service)
{
    nats_kv_watch_free(service->watch);
    service->watch = NULL;
    service->is_read = service->has_begun = false;
    timer_clear(loop_timers(service->master->loop), &service->timer);
    forget_seen_peels(service);
}

static void on_presence_lease_got(struct lease *lease)
{
    struct presence_service *service = container_of(lease, struct presence_service, lease);
    const struct nats_kv kv = get_presence_bucket(service);
    struct err err;

    close_records(service);
    service->listening_since = clock_now();
    service->watch =
        nats_kv_watch_new(&kv,
                          &(struct nats_kv_watch_options){ .entry = on_presence_record,
                                                           .caught_up = on_records_read,
                                                           .failed = on_presence_watch_failed,
                                                           .self = service },
                          &err);
    if (!service->watch)
        log_warning("presence cannot be watched error=%s", err.text);
    else
        timer_set(loop_timers(service->master->loop), &service->timer, clock_now(),
                  on_presence_tick);
}

static void on_presence_lease_lost(struct lease *lease)
{
    close_records(container_of(lease, struct presence_service, lease));
}

/* Peels also need time to reconnect. */
static void on_presence_bus_event(struct nats_listener *listener, const struct nats_event *event)
{
    if (event->kind == NATS_EVENT_CONNECTED)
        container_of(listener, struct presence_service, bus)->listening_since = clock_now();
}

static void *open_presence_service(struct master *master, struct err *err)
{
    struct presence_service *service = mem_zalloc(sizeof(*service));

    (void)err;
    service->master = master;
    return service;
}

static int start_presence_service(void *self, struct err *err)
{
    struct presence_service *service = self;

    (void)err;
    if (!service->master->conf.presence_events)
        return 0;
    nats_listen(service->master->js.conn, &service->bus, on_presence_bus_event);
    service->lease = (struct lease){ .js = service->master->js,
                                     .key = LEASE,
                                     .holder = service->master->id,
                                     .got = on_presence_lease_got,
                                     .lost = on_presence_lease_lost };
    lease_start(&service->lease);
    return 0;
}

static void stop_presence_service(void *self)
{
    struct presence_service *service = self;

    if (!service->lease.is_started)
        return;
    nats_unlisten(service->master->js.conn, &service->bus);
    close_records(service);
    (void)lease_stop(&service->lease, NULL, NULL);
}

static void free_presence_service(void *self)
{
    struct presence_service *service = self;

    map_done(&service->peels);
    free(service);
}

const struct master_service master_presence_service = {
    .name = "presence",
    .open = open_presence_service,
    .start = start_presence_service,
    .stop = stop_presence_service,
    .free = free_presence_service,
};
