#include "master/peels/larder.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "bus/store.h"
#include "nats/error.h"
#include "nats/kv.h"
#include "sys/clock.h"

struct jar {
    int64_t time; /* clock_wall of its write */
    size_t key_size, size;
    char bytes[]; /* the key, then the value */
};

struct larder {
    struct nats_kv_watch *watch;
    struct map jars; /* struct jar by key */
};

static void remove_jar(struct larder *larder, struct str key)
{
    free(map_remove(&larder->jars, key));
}

static void on_entry(void *self, const struct nats_kv_entry *entry)
{
    struct larder *larder = self;
    struct jar *jar;

    remove_jar(larder, entry->key);
    if (entry->change != NATS_KV_PUT)
        return;
    if (entry->value.n > LARDER_VALUE_MAX) {
        log_warning("a value of a basket is too large: ignored key=%.*s", STR_ARG(entry->key));
        return;
    }
    jar = mem_alloc(sizeof(*jar) + entry->key.n + entry->value.n);
    *jar = (struct jar){ entry->time, entry->key.n, entry->value.n };
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

struct larder *larder_new(const struct nats_js *js, struct err *err)
{
    const struct nats_kv kv = { .js = *js, .bucket = store_bucket_name(STORE_BASKET) };
    struct larder *larder = mem_zalloc(sizeof(*larder));

    larder->watch = nats_kv_watch_new(
        &kv,
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
    nats_kv_watch_free(larder->watch);
    MAP_EACH (&larder->jars, entry)
        free(entry->value);
    map_done(&larder->jars);
    free(larder);
}

struct str larder_get(const struct larder *larder, const char *peel, const char *name)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *key = arena_printf(&arena, "%s.%s", peel, name);
    const struct jar *jar = map_find(&larder->jars, str_from(key));

    if (!jar || clock_wall() - jar->time > store_bucket_ttl(STORE_BASKET))
        return (struct str){ NULL, 0 };
    return (struct str){ jar->bytes + jar->key_size, jar->size };
}
