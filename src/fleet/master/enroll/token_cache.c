#include "fleet/master/enroll/token_cache.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"

/* Lives in its own arena. */
struct cached_token {
    struct arena arena;
    struct token_record record;
};

struct token_cache {
    struct nats_js js;
    struct map tokens; /* by id */
    struct nats_kv_watch *watch;
};

static void free_cached_token(struct cached_token *cached_token)
{
    struct arena arena;

    if (!cached_token)
        return;
    arena = cached_token->arena;
    arena_done(&arena);
}

static void add_cached_token(struct token_cache *cache, struct str id, struct str value)
{
    struct arena arena = ARENA_INIT;
    struct cached_token *cached_token = ARENA_NEW(&arena, struct cached_token);
    struct err err;
    int result = record_decode(&arena, &token_record_type, 1, arena_str(&arena, value),
                               &cached_token->record, &err);

    cached_token->arena = arena;
    if (result < 0 || !str_eq_text(id, cached_token->record.id) ||
        map_count(&cache->tokens) >= TOKEN_CACHE_MAX) {
        log_warning("join token is ignored id=%.*s error=%s", STR_ARG(id),
                    result < 0 ? err.text : "not its own, or too many");
        free_cached_token(cached_token);
        return;
    }
    (void)map_set(&cache->tokens, str_from(cached_token->record.id), cached_token);
}

static void on_token_entry(void *self, const struct nats_kv_entry *entry)
{
    struct token_cache *cache = self;
    struct str id = str_from_offset(entry->key, strlen(TOKEN_KEY));

    free_cached_token(map_remove(&cache->tokens, id));
    if (entry->change == NATS_KV_PUT)
        add_cached_token(cache, id, entry->value);
}

static void on_token_watch_failed(void *self, const struct nats_error *error)
{
    (void)self;
    log_error("join tokens cannot be watched error=%s", error->text);
}

struct token_cache *token_cache_new(const struct nats_js *js, struct err *err)
{
    const struct nats_kv kv = { .js = *js, .bucket = store_bucket_name(STORE_ENROLLMENTS) };
    struct token_cache *cache = mem_zalloc(sizeof(*cache));

    cache->js = *js;
    cache->watch =
        nats_kv_watch_new(&kv,
                          &(struct nats_kv_watch_options){ .pattern = TOKEN_KEY "*",
                                                           .entry = on_token_entry,
                                                           .failed = on_token_watch_failed,
                                                           .self = cache },
                          err);
    if (cache->watch)
        return cache;
    free(cache);
    return NULL;
}

void token_cache_stop(struct token_cache *cache)
{
    nats_kv_watch_free(cache->watch);
    cache->watch = NULL;
}

void token_cache_free(struct token_cache *cache)
{
    if (!cache)
        return;
    MAP_EACH (&cache->tokens, entry)
        free_cached_token(entry->value);
    map_done(&cache->tokens);
    free(cache);
}

const struct token_record *token_cache_find(const struct token_cache *cache, struct str text,
                                            struct str peel)
{
    const struct cached_token *cached_token;
    struct token token;
    struct err err;

    if (!cache || text.n == 0 || token_parse(text, &token, &err) < 0)
        return NULL;
    cached_token = map_find(&cache->tokens, str_from(token.id));
    if (!cached_token || !token_allows(&cached_token->record, &token, peel, bus_time_seconds()))
        return NULL;
    return &cached_token->record;
}

/* A pending read of the bucket. */
struct fetch {
    struct token_cache *cache;
    token_cache_fn *fn;
    void *self;
};

static void on_token_fetched(void *self, const struct nats_error *error,
                             const struct nats_kv_entry *entry)
{
    struct fetch *fetch = self;

    if (!error)
        on_token_entry(fetch->cache, entry);
    fetch->fn(fetch->self);
    free(fetch);
}

int token_cache_fetch(struct token_cache *cache, struct str text, token_cache_fn *fn, void *self,
                      struct err *err)
{
    const struct nats_kv kv = { .js = cache->js,
                                .bucket = store_bucket_name(STORE_ENROLLMENTS),
                                .indirect = true };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fetch *fetch;
    struct token token;

    if (token_parse(text, &token, err) < 0)
        return -1;
    fetch = mem_zalloc(sizeof(*fetch));
    *fetch = (struct fetch){ cache, fn, self };
    if (nats_kv_get(&kv, arena_printf(&arena, TOKEN_KEY "%s", token.id), on_token_fetched, fetch,
                    err) == 0)
        return 0;
    free(fetch);
    return -1;
}
