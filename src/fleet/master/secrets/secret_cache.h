/*
 * secret_cache - values of secret back-ends that peels need, as they were got last.
 *
 * A value is known by a key: "vault:databases/main", the name of the back-end and the path. It is
 * asked for when a peel needs it, and again after `refresh` of its back-end as long as one does.
 * While a back-end fails, the value that it gave before counts; what was never got has a
 * problem instead. A back-end is asked for a few values at once, and a slow one holds up no other.
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
/* That one back-end is asked for at once, and chores that do so. */
#define SECRET_CACHE_ASKED   2
#define SECRET_CACHE_WORKERS (SECRET_CACHE_ASKED * BACKENDS_MAX)

struct secret_cache_options {
    struct loop *loop;
    struct background_tasks *background_tasks; /* SECRET_CACHE_WORKERS, which must outlive it */
    struct metrics *metrics;
    /* There is another value, or a problem where there was no answer. */
    void (*changed)(void *self, struct str key);
    void *self;
};

struct secret_cache *secret_cache_new(const struct secret_cache_options *options, struct err *err);
/* What is under way is canceled; `changed` is not called any longer. NULL is fine. */
void secret_cache_stop(struct secret_cache *cache);
/* When no worker uses it. NULL is fine. */
void secret_cache_free(struct secret_cache *cache);

/* `secret_backends` of the configuration, or NULL; values of those that changed are asked for. */
void secret_cache_configure(struct secret_cache *cache, const struct value *given);

/* Forget everything: another master gets the values now. */
void secret_cache_clear(struct secret_cache *cache);

/* Somebody needs this value from now on. Returns whether it has changed since `version`, so that
 * whoever looked it up then must look again. */
bool secret_cache_want(struct secret_cache *cache, const char *key, uint64_t version);
/* Forget what is not wanted between these two. */
void secret_cache_begin_sweep(struct secret_cache *cache);
void secret_cache_end_sweep(struct secret_cache *cache);

/* What fails now: false, or the words for one of them and how many others there are. */
bool secret_cache_is_failing(struct secret_cache *cache, char *ret_text, size_t size);

/* --- for workers ------------------------------------------------------------------------ */

/* What one peel asks for while its settings are made. */
struct secret_needs {
    struct secret_cache *cache;
    struct arena *arena;
    uint64_t version;       /* of the cache, before anything was looked up */
    VEC(const char *) keys; /* that were asked for, each once */
    bool is_waiting;        /* one of them has no answer yet; it was SECRETS_MASK meanwhile */
};

void secret_needs_init(struct secret_needs *needs, struct secret_cache *cache, struct arena *arena);
/* A settings_fetch_fn of struct secret_needs. */
int secret_needs_fetch(void *self, const struct secret_ref *ref, const char *peel,
                       struct str *ret_text, struct err *err);

#endif
