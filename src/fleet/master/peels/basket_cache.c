#include "fleet/master/peels/basket_cache.h"

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

/* After listening this long without interruption, every live peel has been heard. */
#define LISTEN_NS (60 * CLOCK_SECOND)

struct basket_entry {
    int64_t time; /* bus_time of its write */
    uint64_t revision;
    size_t key_size, size;
    char bytes[]; /* the key, then the value */
};

/* A peel with entries. */
struct owner {
    size_t keys, bytes;
    bool is_reported; /* the limit was reported */
    char id[];
};

struct basket_cache {
    struct basket_cache_options options;
    struct nats_kv kv;
    struct nats_listener bus;
    int64_t listening_since; /* clock_now */
    struct nats_kv_watch *watch;
    struct map entries; /* struct basket_entry by key */
    struct map owners;  /* struct owner by id */
};

static struct str get_owner_id(struct str key)
{
    return str_slice(key, 0, str_find_char(key, '.', 0));
}

static struct owner *get_owner(struct basket_cache *cache, struct str id)
{
    struct owner *owner = map_find(&cache->owners, id);

    if (owner)
        return owner;
    owner = mem_zalloc(sizeof(*owner) + id.n + 1);
    memcpy(owner->id, id.p, id.n);
    (void)map_set(&cache->owners, (struct str){ owner->id, id.n }, owner);
    return owner;
}

static void remove_basket(struct basket_cache *cache, struct str key)
{
    struct basket_entry *item = map_remove(&cache->entries, key);
    struct owner *owner = item ? map_find(&cache->owners, get_owner_id(key)) : NULL;

    if (owner) {
        owner->keys--;
        owner->bytes -= item->key_size + item->size;
    }
    if (owner && owner->keys == 0)
        free(map_remove(&cache->owners, get_owner_id(key)));
    free(item);
}

/* True: within the limits. Otherwise it is reported, once per peel. */
static bool take_basket_slot(struct basket_cache *cache, const struct nats_kv_entry *entry)
{
    struct owner *owner = get_owner(cache, get_owner_id(entry->key));
    const size_t size = entry->key.n + entry->value.n;

    if (entry->value.n <= BASKET_CACHE_VALUE_MAX && owner->keys < BASKET_CACHE_KEYS_MAX &&
        owner->bytes + size <= BASKET_CACHE_BYTES_MAX) {
        owner->keys++;
        owner->bytes += size;
        return true;
    }
    if (!owner->is_reported)
        log_warning("ignored a basket entry over the limit peel=%s key=%.*s values=%zu bytes=%zu",
                    owner->id, STR_ARG(entry->key), owner->keys, owner->bytes);
    owner->is_reported = true;
    if (cache->options.exceeded)
        cache->options.exceeded(cache->options.self, str_from(owner->id));
    return false;
}

static void on_basket_entry(void *self, const struct nats_kv_entry *entry)
{
    struct basket_cache *cache = self;
    struct basket_entry *item;

    remove_basket(cache, entry->key);
    if (cache->options.wrote)
        cache->options.wrote(cache->options.self, get_owner_id(entry->key),
                             entry->key.n + entry->value.n);
    if (entry->change != NATS_KV_PUT || !take_basket_slot(cache, entry))
        return;
    item = mem_alloc(sizeof(*item) + entry->key.n + entry->value.n);
    *item = (struct basket_entry){ entry->time, entry->revision, entry->key.n, entry->value.n };
    memcpy(item->bytes, entry->key.p, entry->key.n);
    memcpy(item->bytes + entry->key.n, entry->value.p, entry->value.n);
    (void)map_set(&cache->entries, (struct str){ item->bytes, item->key_size }, item);
}

static void on_basket_watch_failed(void *self, const struct nats_error *error)
{
    (void)self;
    if (error->fault != NATS_FAULT_CANCELED)
        log_error("baskets cannot be watched error=%s", error->text);
}

static void on_basket_bus_event(struct nats_listener *listener, const struct nats_event *event)
{
    if (event->kind == NATS_EVENT_CONNECTED)
        container_of(listener, struct basket_cache, bus)->listening_since = clock_now();
}

struct basket_cache *basket_cache_new(const struct nats_js *js,
                                      const struct basket_cache_options *options, struct err *err)
{
    struct basket_cache *cache = mem_zalloc(sizeof(*cache));

    cache->options = *options;
    cache->kv = (struct nats_kv){ .js = *js, .bucket = store_bucket_name(STORE_BASKET) };
    cache->listening_since = clock_now();
    nats_listen(js->conn, &cache->bus, on_basket_bus_event);
    cache->watch = nats_kv_watch_new(
        &cache->kv,
        &(struct nats_kv_watch_options){
            .entry = on_basket_entry, .failed = on_basket_watch_failed, .self = cache },
        err);
    if (cache->watch)
        return cache;
    basket_cache_free(cache);
    return NULL;
}

void basket_cache_free(struct basket_cache *cache)
{
    if (!cache)
        return;
    nats_unlisten(cache->kv.js.conn, &cache->bus);
    nats_kv_watch_free(cache->watch);
    MAP_EACH (&cache->entries, entry)
        free(entry->value);
    MAP_EACH (&cache->owners, entry)
        free(entry->value);
    map_done(&cache->entries);
    map_done(&cache->owners);
    free(cache);
}

struct str basket_cache_get(const struct basket_cache *cache, const char *peel, const char *name)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *key = arena_printf(&arena, "%s.%s", peel, name);
    const struct basket_entry *item = map_find(&cache->entries, str_from(key));

    return item ? (struct str){ item->bytes + item->key_size, item->size }
                : (struct str){ NULL, 0 };
}

/* --- expiry ---------------------------------------------------------------------------- */

static void on_basket_entry_removed(void *self, const struct nats_error *error, uint64_t revision)
{
    AUTO_FREE char *key = self;

    (void)revision;
    if (!error)
        log_info("removed an expired basket entry key=%s", key);
    else if (error->fault != NATS_FAULT_CONFLICT && error->fault != NATS_FAULT_CANCELED)
        log_warning("cannot remove an expired basket entry key=%s error=%s", key, error->text);
}

static void remove_basket_entry(const struct basket_cache *cache, const struct basket_entry *item)
{
    char *key = mem_zalloc(item->key_size + 1); /* may outlive the basket cache */
    struct err err;

    memcpy(key, item->bytes, item->key_size);
    /* at this revision: newer writes of the peel are kept */
    if (nats_kv_delete(&cache->kv, key, item->revision, on_basket_entry_removed, key, &err) < 0)
        free(key);
}

static bool has_basket_expired(const struct basket_entry *item, const struct roster *roster,
                               int64_t expires)
{
    const struct str key = { item->bytes, item->key_size };
    const int64_t seen = roster_seen(roster, get_owner_id(key));

    return bus_time() - item->time > expires && (seen == 0 || clock_now() - seen > expires);
}

void basket_cache_sweep(struct basket_cache *cache, const struct roster *roster, int64_t expires)
{
    const int64_t wait = expires < LISTEN_NS ? expires : LISTEN_NS;

    if (clock_now() - cache->listening_since < wait ||
        nats_conn_state(cache->kv.js.conn) != NATS_CONN_CONNECTED)
        return;
    MAP_EACH (&cache->entries, entry)
        if (has_basket_expired(entry->value, roster, expires))
            remove_basket_entry(cache, entry->value);
}
