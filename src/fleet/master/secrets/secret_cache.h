/*
 * secret_cache - caches the values of secret back-ends that peels need.
 *
 * A key is the name of the back-end and the path: "vault:databases/main". A value is fetched when a
 * peel needs it, and again after the back-end's `refresh` while one does. While a back-end fails,
 * its last value is used; a value never fetched has a problem instead. Each back-end has a few
 * concurrent fetches, so a slow one delays no other.
 *
 *     secret_cache_new -> secret_cache_configure
 *       -> { secret_needs_fetch (workers) -> secret_cache_want -> changed }...
 *       -> secret_cache_stop -> secret_cache_free
 *
 * Threads: the loop's; workers may look values up, with secret_needs_fetch.
 */
#ifndef FLEET_MASTER_SECRETS_SECRET_CACHE_H
#define FLEET_MASTER_SECRETS_SECRET_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "fleet/master/secrets/backend.h"

struct arena;
struct background_tasks;
struct err;
struct loop;
struct metrics;
struct secret_cache;
struct secret_ref;
struct value;

#define SECRET_CACHE_MAX 20000 /* values */
/* Concurrent fetches per back-end, and in total. */
#define SECRET_CACHE_ASKED   2
#define SECRET_CACHE_WORKERS (SECRET_CACHE_ASKED * BACKENDS_MAX)

struct secret_cache_options {
    struct loop *loop;
    struct background_tasks *background_tasks; /* SECRET_CACHE_WORKERS, which must outlive it */
    struct metrics *metrics;
    /* The value changed, or a problem was found. */
    void (*changed)(void *self, struct str key);
    void *self;
};

struct secret_cache *secret_cache_new(const struct secret_cache_options *options, struct err *err);
/* Cancels pending fetches; `changed` is no longer called. NULL is fine. */
void secret_cache_stop(struct secret_cache *cache);
/* Only when no worker uses it. NULL is fine. */
void secret_cache_free(struct secret_cache *cache);

/* Set `secret_backends`, or NULL; values of changed back-ends are fetched again. */
void secret_cache_configure(struct secret_cache *cache, const struct value *given);

/* Forget everything: another master fetches now. */
void secret_cache_clear(struct secret_cache *cache);

/* Register the need for a value. Returns whether it changed since `version`: then look it up
 * again. */
bool secret_cache_want(struct secret_cache *cache, const char *key, uint64_t version);
/* Forget values not wanted between these two calls. */
void secret_cache_begin_sweep(struct secret_cache *cache);
void secret_cache_end_sweep(struct secret_cache *cache);

/* Is a value failing? Then describes one of them, and counts the others. */
bool secret_cache_is_failing(struct secret_cache *cache, char *ret_text, size_t size);

/* --- for workers ------------------------------------------------------------------------ */

/* The lookups of one peel while its settings are rendered. */
struct secret_needs {
    struct secret_cache *cache;
    struct arena *arena;
    uint64_t version;       /* of the cache, before the first lookup */
    VEC(const char *) keys; /* requested keys, without duplicates */
    bool is_waiting;        /* a value is not fetched yet; SECRETS_MASK was used */
};

void secret_needs_init(struct secret_needs *needs, struct secret_cache *cache, struct arena *arena);
/* A settings_fetch_fn of struct secret_needs. */
int secret_needs_fetch(void *self, const struct secret_ref *ref, const char *peel,
                       struct str *ret_text, struct err *err);

#endif
