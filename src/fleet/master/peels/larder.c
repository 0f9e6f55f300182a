#include "fleet/master/peels/larder.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/master/peels/roster.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"

/* After this long without an interruption a peel that is there has been heard. */
#define LISTEN_NS (60 * CLOCK_SECOND)

struct jar {
    int64_t time; /* bus_time of its write */
    uint64_t revision;
    size_t key_size, size;
    char bytes[]; /* the key, then the value */
};

/* A peel that shares something. */
struct owner {
    size_t keys, bytes;
    bool is_reported; /* that it shares too much */
    char id[];
};

struct larder {
    struct larder_options options;
    struct nats_kv kv;
    struct nats_listener bus;
    int64_t listening_since; /* clock_now */
    struct nats_kv_watch *watch;
    struct map jars;   /* struct jar by key */
    struct map owners; /* struct owner by id */
};

static struct str owner_id(struct str key)
{
    return str_slice(key, 0, str_find_char(key, '.', 0));
}

static struct owner *get_owner(struct larder *larder, struct str id)
{
    struct owner *owner = map_find(&larder->owners, id);

    if (owner)
        return owner;
    owner = mem_zalloc(sizeof(*owner) + id.n + 1);
    memcpy(owner->id, id.p, id.n);
    (void)map_set(&larder->owners, (struct str){ owner->id, id.n }, owner);
    return owner;
}

static void remove_jar(struct larder *larder, struct str key)
{
    struct jar *jar = map_remove(&larder->jars, key);
    struct owner *owner = jar ? map_find(&larder->owners, owner_id(key)) : NULL;

    if (owner) {
        owner->keys--;
        owner->bytes -= jar->key_size + jar->size;
    }
    if (owner && owner->keys == 0)
        free(map_remove(&larder->owners, owner_id(key)));
    free(jar);
}

/* There is a place for it; else it is reported, once for each peel. */
static bool take_place(struct larder *larder, const struct nats_kv_entry *entry)
{
    struct owner *owner = get_owner(larder, owner_id(entry->key));
    const size_t size = entry->key.n + entry->value.n;

    if (entry->value.n <= LARDER_VALUE_MAX && owner->keys < LARDER_KEYS_MAX &&
        owner->bytes + size <= LARDER_BYTES_MAX) {
        owner->keys++;
        owner->bytes += size;
        return true;
    }
    if (!owner->is_reported)
        log_warning("a peel shares too much: ignored peel=%s key=%.*s values=%zu bytes=%zu",
                    owner->id, STR_ARG(entry->key), owner->keys, owner->bytes);
    owner->is_reported = true;
    if (larder->options.exceeded)
        larder->options.exceeded(larder->options.self, str_from(owner->id));
    return false;
}

static void on_entry(void *self, const struct nats_kv_entry *entry)
{
    struct larder *larder = self;
    struct jar *jar;

    remove_jar(larder, entry->key);
    if (larder->options.wrote)
        larder->options.wrote(larder->options.self, owner_id(entry->key),
                              entry->key.n + entry->value.n);
    if (entry->change != NATS_KV_PUT || !take_place(larder, entry))
        return;
    jar = mem_alloc(sizeof(*jar) + entry->key.n + entry->value.n);
    *jar = (struct jar){ entry->time, entry->revision, entry->key.n, entry->value.n };
    memcpy(jar->bytes, entry->key.p, entry->key.n);
    memcpy(jar->bytes + entry->key.n, entry->value.p, entry->value.n);
    (void)map_set(&larder->jars, (struct str){ jar->bytes, jar->key_size }, jar);
}

static void on_failed(void *self, const struct nats_error *error)
{
    (void)self;
    if (error->fault != NATS_FAULT_CANCELED)
        log_error("baskets cannot be watched error=%s", error->text);
}

static void on_bus_event(struct nats_listener *listener, const struct nats_event *event)
{
    if (event->kind == NATS_EVENT_CONNECTED)
        container_of(listener, struct larder, bus)->listening_since = clock_now();
}

struct larder *larder_new(const struct nats_js *js, const struct larder_options *options,
                          struct err *err)
{
    struct larder *larder = mem_zalloc(sizeof(*larder));

    larder->options = *options;
    larder->kv = (struct nats_kv){ .js = *js, .bucket = store_bucket_name(STORE_BASKET) };
    larder->listening_since = clock_now();
    nats_listen(js->conn, &larder->bus, on_bus_event);
    larder->watch = nats_kv_watch_new(
        &larder->kv,
        &(struct nats_kv_watch_options){ .entry = on_entry, .failed = on_failed, .self = larder },
        err);
    if (larder->watch)
        return larder;
    larder_free(larder);
    return NULL;
}

void larder_free(struct larder *larder)
{
    if (!larder)
        return;
    nats_unlisten(larder->kv.js.conn, &larder->bus);
    nats_kv_watch_free(larder->watch);
    MAP_EACH (&larder->jars, entry)
        free(entry->value);
    MAP_EACH (&larder->owners, entry)
        free(entry->value);
    map_done(&larder->jars);
    map_done(&larder->owners);
    free(larder);
}

struct str larder_get(const struct larder *larder, const char *peel, const char *name)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *key = arena_printf(&arena, "%s.%s", peel, name);
    const struct jar *jar = map_find(&larder->jars, str_from(key));

    return jar ? (struct str){ jar->bytes + jar->key_size, jar->size } : (struct str){ NULL, 0 };
}

/* --- what has expired ------------------------------------------------------------------ */

static void on_removed(void *self, const struct nats_error *error, uint64_t revision)
{
    AUTO_FREE char *key = self;

    (void)revision;
    if (!error)
        log_info("an entry of a basket has expired: its peel is gone key=%s", key);
    else if (error->fault != NATS_FAULT_CONFLICT && error->fault != NATS_FAULT_CANCELED)
        log_warning("an entry of a basket that has expired is not removed key=%s error=%s", key,
                    error->text);
}

static void remove_entry(const struct larder *larder, const struct jar *jar)
{
    char *key = mem_zalloc(jar->key_size + 1); /* may outlive the larder */
    struct err err;

    memcpy(key, jar->bytes, jar->key_size);
    /* at this revision: what the peel writes meanwhile stays */
    if (nats_kv_delete(&larder->kv, key, jar->revision, on_removed, key, &err) < 0)
        free(key);
}

static bool has_expired(const struct jar *jar, const struct roster *roster, int64_t expires)
{
    const struct str key = { jar->bytes, jar->key_size };
    const int64_t seen = roster_seen(roster, owner_id(key));

    return bus_time() - jar->time > expires && (seen == 0 || clock_now() - seen > expires);
}

void larder_sweep(struct larder *larder, const struct roster *roster, int64_t expires)
{
    const int64_t wait = expires < LISTEN_NS ? expires : LISTEN_NS;

    if (clock_now() - larder->listening_since < wait ||
        nats_conn_state(larder->kv.js.conn) != NATS_CONN_CONNECTED)
        return;
    MAP_EACH (&larder->jars, entry)
        if (has_expired(entry->value, roster, expires))
            remove_entry(larder, entry->value);
}
