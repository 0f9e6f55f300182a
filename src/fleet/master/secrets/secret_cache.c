#include "fleet/master/secrets/secret_cache.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/ed25519.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/http/metrics.h"
#include "fleet/master/metric.h"
#include "states/settings/secret_ref.h"
#include "states/state/secrets.h"
#include "core/sys/cancel.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/peel_id.h"

/* Retry delay after a failure; it doubles up to `refresh`. */
#define RETRY_NS    (5 * CLOCK_SECOND)
#define RETRY_STEPS 10
#define NEVER       INT64_MAX
#define NO_BACKEND  "this master has no such back-end in 'secret_backends'"

/* Text and problem are under the mutex; the rest is the loop's. */
struct secret {
    struct str text;  /* a NULL view: never fetched */
    char *problem;    /* of the last attempt; NULL: none */
    uint64_t version; /* of the cache, at the last change */
    int64_t due;      /* clock_now of the next fetch */
    unsigned failures;
    bool is_asked, is_marked;
    size_t name; /* bytes of the key before its ':' */
    char key[];
};

struct secret_cache {
    struct secret_cache_options options;
    pthread_mutex_t mutex;
    struct map secrets; /* struct secret by key; changed under the mutex */
    uint64_t version;   /* under the mutex */
    struct backends *backends;
    struct cancel cancel;
    struct timer timer;
    size_t under_way;
    bool is_full, is_stopped, is_gone;
};

static void ask_due(struct secret_cache *cache);

static void wipe_text(struct str *text)
{
    if (text->p) {
        ed25519_wipe((char *)(uintptr_t)text->p, text->n);
        free((char *)(uintptr_t)text->p);
    }
    *text = (struct str){ 0 };
}

static void free_secret(struct secret *secret)
{
    wipe_text(&secret->text);
    free(secret->problem);
    free(secret);
}

static void forget_secret(struct secret_cache *cache, struct secret *secret)
{
    pthread_mutex_lock(&cache->mutex);
    (void)map_remove(&cache->secrets, str_from(secret->key));
    pthread_mutex_unlock(&cache->mutex);
    free_secret(secret);
}

static struct str get_secret_backend(const struct secret *secret)
{
    return (struct str){ secret->key, secret->name };
}

/* --- answers ---------------------------------------------------------------------------- */

/* Returns whether anything changed. */
static bool set_secret_text(struct secret_cache *cache, struct secret *secret, struct str text)
{
    bool is_new;

    pthread_mutex_lock(&cache->mutex);
    is_new = !secret->text.p || !str_eq(secret->text, text);
    if (is_new) {
        wipe_text(&secret->text);
        secret->text = (struct str){ memcpy(mem_alloc(text.n + 1), text.p, text.n), text.n };
        secret->version = ++cache->version;
    }
    free(secret->problem);
    secret->problem = NULL;
    pthread_mutex_unlock(&cache->mutex);
    return is_new;
}

static bool set_secret_problem(struct secret_cache *cache, struct secret *secret,
                               const char *problem)
{
    bool is_new;

    pthread_mutex_lock(&cache->mutex);
    is_new = !secret->text.p && (!secret->problem || strcmp(secret->problem, problem) != 0);
    free(secret->problem);
    secret->problem = mem_strdup(problem);
    if (is_new)
        secret->version = ++cache->version;
    pthread_mutex_unlock(&cache->mutex);
    return is_new;
}

static void notify_secret_changed(const struct secret_cache *cache, const struct secret *secret)
{
    cache->options.changed(cache->options.self, str_from(secret->key));
}

static void note_value(struct secret_cache *cache, struct secret *secret, struct str text)
{
    const struct backend *backend = backends_find(cache->backends, get_secret_backend(secret));

    if (secret->failures > 0)
        log_info("secret back-end answers again secret=%s", secret->key);
    secret->failures = 0;
    secret->due = backend ? clock_after(clock_now(), backend->refresh) : NEVER;
    if (set_secret_text(cache, secret, text))
        notify_secret_changed(cache, secret);
}

/* Log one line per outage of a value. */
static void note_secret_failure(struct secret_cache *cache, struct secret *secret,
                                const char *problem)
{
    const struct backend *backend = backends_find(cache->backends, get_secret_backend(secret));
    const int64_t refresh = backend ? backend->refresh : NEVER;
    const unsigned step = secret->failures < RETRY_STEPS ? secret->failures : RETRY_STEPS;
    const int64_t pause = RETRY_NS << step;

    metrics_add(cache->options.metrics, MASTER_SECRET_FAILURES, 1,
                backend ? backend->name : "unknown", NULL);
    if (secret->failures == 0)
        log_warning("cannot fetch a secret, %s secret=%s error=%s",
                    secret->text.p ? "the last value stays published"
                                   : "settings with it are unchanged",
                    secret->key, problem);
    secret->failures++;
    secret->due = backend ? clock_after(clock_now(), pause < refresh ? pause : refresh) : NEVER;
    if (set_secret_problem(cache, secret, problem))
        notify_secret_changed(cache, secret);
}

/* --- fetching --------------------------------------------------------------------------- */

struct asking {
    struct background_task background_task;
    struct secret_cache *cache;
    struct backends *backends;
    const struct backend *backend;
    struct arena arena;
    const char *key, *path;
    struct str text;
    int rc;
    struct err err;
};

static void ask_backend(struct background_task *background_task)
{
    struct asking *asking = container_of(background_task, struct asking, background_task);

    asking->rc = backend_get(asking->backend,
                             &(struct backend_call){ .arena = &asking->arena,
                                                     .path = asking->path,
                                                     .cancel = &asking->cache->cancel },
                             &asking->text, &asking->err);
}

/* If the back-end changed meanwhile, fetch again. */
static void note_answer(struct secret_cache *cache, struct secret *secret,
                        const struct asking *asking)
{
    secret->is_asked = false;
    if (backends_differ(asking->backends, cache->backends, get_secret_backend(secret)))
        secret->due = clock_now();
    else if (asking->rc == 0)
        note_value(cache, secret, asking->text);
    else
        note_secret_failure(cache, secret, asking->err.text);
}

static void on_backend_answer(struct background_task *background_task)
{
    struct asking *asking = container_of(background_task, struct asking, background_task);
    struct secret_cache *cache = asking->cache;
    struct secret *secret = map_find(&cache->secrets, str_from(asking->key));

    cache->under_way--;
    if (secret && !cache->is_stopped)
        note_answer(cache, secret, asking);
    if (asking->rc == 0)
        ed25519_wipe((char *)(uintptr_t)asking->text.p, asking->text.n);
    backends_drop(asking->backends);
    arena_done(&asking->arena);
    free(asking);
    if (!cache->is_stopped)
        ask_due(cache);
    else if (cache->is_gone)
        secret_cache_free(cache);
}

static void begin_asking(struct secret_cache *cache, struct secret *secret,
                         const struct backend *backend)
{
    struct asking *asking = mem_zalloc(sizeof(*asking));

    asking->cache = cache;
    asking->backends = backends_hold(cache->backends);
    asking->backend = backend;
    asking->key = arena_strdup(&asking->arena, secret->key);
    asking->path = asking->key + secret->name + 1;
    secret->is_asked = true;
    cache->under_way++;
    background_task_begin(cache->options.background_tasks, &asking->background_task, ask_backend,
                          on_backend_answer);
}

static size_t count_asked_secrets(const struct secret_cache *cache, struct str name)
{
    size_t count = 0;

    MAP_EACH (&cache->secrets, entry) {
        const struct secret *secret = entry->value;

        count += secret->is_asked && str_eq(get_secret_backend(secret), name);
    }
    return count;
}

static void on_secret_timer(struct timer *timer)
{
    ask_due(container_of(timer, struct secret_cache, timer));
}

/* Free fetch slots of a back-end. */
struct fetch_slots {
    const struct backend *backend;
    size_t left;
};

static struct fetch_slots *find_fetch_slots(struct secret_cache *cache, struct fetch_slots *all,
                                            struct str name)
{
    const struct backend *backend = backends_find(cache->backends, name);
    size_t i = 0, asked;

    while (all[i].backend && all[i].backend != backend)
        i++;
    if (backend && !all[i].backend) {
        asked = count_asked_secrets(cache, name);
        all[i] =
            (struct fetch_slots){ backend,
                                  asked < SECRET_CACHE_ASKED ? SECRET_CACHE_ASKED - asked : 0 };
    }
    return backend ? &all[i] : NULL;
}

/* Fetch due values, and set the timer for the next. */
static void ask_due(struct secret_cache *cache)
{
    struct fetch_slots all[BACKENDS_MAX + 1] = { 0 };
    const int64_t now = clock_now();
    int64_t next = NEVER;

    MAP_EACH (&cache->secrets, entry) {
        struct secret *secret = entry->value;
        struct fetch_slots *slots;

        if (secret->is_asked)
            continue;
        if (secret->due > now) {
            next = secret->due < next ? secret->due : next;
            continue;
        }
        slots = find_fetch_slots(cache, all, get_secret_backend(secret));
        if (slots && slots->left > 0) {
            slots->left--;
            begin_asking(cache, secret, slots->backend);
        }
    }
    if (next != NEVER)
        timer_set(loop_timers(cache->options.loop), &cache->timer, next, on_secret_timer);
}

/* --- needs ------------------------------------------------------------------------------ */

static void refuse_unknown_backend(struct secret_cache *cache, struct secret *secret)
{
    if (backends_find(cache->backends, get_secret_backend(secret)))
        return;
    secret->failures = 0;
    note_secret_failure(cache, secret, NO_BACKEND);
}

static struct secret *add_secret(struct secret_cache *cache, const char *key)
{
    struct secret *secret = mem_zalloc(sizeof(*secret) + strlen(key) + 1);

    memcpy(secret->key, key, strlen(key));
    secret->name = strcspn(key, ":");
    pthread_mutex_lock(&cache->mutex);
    (void)map_set(&cache->secrets, str_from(secret->key), secret);
    pthread_mutex_unlock(&cache->mutex);
    return secret;
}

bool secret_cache_want(struct secret_cache *cache, const char *key, uint64_t version)
{
    struct secret *secret = map_find(&cache->secrets, str_from(key));

    if (!secret && map_count(&cache->secrets) >= SECRET_CACHE_MAX) {
        if (!cache->is_full)
            log_error("more than %d back-end secrets are needed, ignoring the others",
                      SECRET_CACHE_MAX);
        cache->is_full = true;
        return false;
    }
    if (secret) {
        secret->is_marked = true;
        return secret->version > version;
    }
    secret = add_secret(cache, key);
    secret->is_marked = true;
    refuse_unknown_backend(cache, secret);
    timer_set(loop_timers(cache->options.loop), &cache->timer, clock_now(), on_secret_timer);
    return secret->version > version;
}

void secret_cache_begin_sweep(struct secret_cache *cache)
{
    MAP_EACH (&cache->secrets, entry)
        ((struct secret *)entry->value)->is_marked = false;
}

/* Forget unmarked secrets, or all. */
static void forget_secrets(struct secret_cache *cache, bool all)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct {
        VEC(struct secret *) list;
    } unused = { 0 };

    MAP_EACH (&cache->secrets, entry) {
        struct secret *secret = entry->value;

        if (all || !secret->is_marked)
            VEC_PUSH_IN(&arena, &unused.list, secret);
    }
    VEC_EACH (&unused.list, secret)
        forget_secret(cache, *secret);
    cache->is_full = cache->is_full && unused.list.n == 0;
}

void secret_cache_end_sweep(struct secret_cache *cache)
{
    forget_secrets(cache, false);
}

void secret_cache_clear(struct secret_cache *cache)
{
    timer_clear(loop_timers(cache->options.loop), &cache->timer);
    forget_secrets(cache, true);
}

void secret_cache_configure(struct secret_cache *cache, const struct value *given)
{
    struct backends *before = cache->backends, *now = backends_read(given, NULL);

    pthread_mutex_lock(&cache->mutex);
    cache->backends = now;
    pthread_mutex_unlock(&cache->mutex);
    MAP_EACH (&cache->secrets, entry) {
        struct secret *secret = entry->value;

        if (backends_differ(before, now, get_secret_backend(secret))) {
            secret->due = clock_now();
            refuse_unknown_backend(cache, secret);
        }
    }
    backends_drop(before);
    ask_due(cache);
}

bool secret_cache_is_failing(struct secret_cache *cache, char *ret_text, size_t size)
{
    const struct secret *first = NULL;
    size_t count = 0;

    MAP_EACH (&cache->secrets, entry) {
        const struct secret *secret = entry->value;

        if (!secret->problem)
            continue;
        count++;
        if (!first || strcmp(secret->key, first->key) < 0)
            first = secret;
    }
    if (!first)
        return false;
    (void)snprintf(ret_text, size, "secret back-end '%.*s', '%s': %s",
                   STR_ARG(get_secret_backend(first)), first->key + first->name + 1,
                   first->problem);
    if (count > 1 && strlen(ret_text) < size)
        (void)snprintf(ret_text + strlen(ret_text), size - strlen(ret_text), " (and %zu more)",
                       count - 1);
    return true;
}

/* --- for workers ------------------------------------------------------------------------ */

void secret_needs_init(struct secret_needs *needs, struct secret_cache *cache, struct arena *arena)
{
    *needs = (struct secret_needs){ .cache = cache, .arena = arena };
    pthread_mutex_lock(&cache->mutex);
    needs->version = cache->version;
    pthread_mutex_unlock(&cache->mutex);
}

static void note_need(struct secret_needs *needs, const char *key)
{
    VEC_EACH (&needs->keys, known)
        if (strcmp(*known, key) == 0)
            return;
    VEC_PUSH_IN(needs->arena, &needs->keys, key);
}

/* Copies the known text or problem, or neither. */
static void look_up_secret(const struct secret_needs *needs, const char *key, struct str *ret_text,
                           const char **ret_problem)
{
    struct secret_cache *cache = needs->cache;
    const struct secret *secret;

    *ret_text = (struct str){ 0 };
    *ret_problem = NULL;
    pthread_mutex_lock(&cache->mutex);
    secret = map_find(&cache->secrets, str_from(key));
    if (secret && secret->text.p)
        *ret_text = arena_str(needs->arena, secret->text);
    else if (secret && secret->problem)
        *ret_problem = arena_strdup(needs->arena, secret->problem);
    else if (!secret && map_count(&cache->secrets) >= SECRET_CACHE_MAX)
        *ret_problem = arena_printf(needs->arena, "more than %d secrets of back-ends are needed",
                                    SECRET_CACHE_MAX);
    pthread_mutex_unlock(&cache->mutex);
}

static int pick_field(const struct secret_needs *needs, const struct secret_ref *ref,
                      struct str *text, struct err *err)
{
    struct backends *backends;
    const struct backend *backend;
    int rc;

    if (ref->field.n == 0)
        return 0;
    pthread_mutex_lock(&needs->cache->mutex);
    backends = backends_hold(needs->cache->backends);
    pthread_mutex_unlock(&needs->cache->mutex);
    backend = backends_find(backends, ref->name);
    rc = backend ? backend_pick(backend, needs->arena, *text, ref->field, text, err)
                 : err_set(err, ERR_NOT_FOUND, NO_BACKEND);
    backends_drop(backends);
    return rc;
}

int secret_needs_fetch(void *self, const struct secret_ref *ref, const char *peel,
                       struct str *ret_text, struct err *err)
{
    struct secret_needs *needs = self;
    const char *path = secret_ref_path(needs->arena, ref, peel_id_name(needs->arena, peel));
    const char *key = arena_printf(needs->arena, "%.*s:%s", STR_ARG(ref->name), path);
    const char *problem;
    struct str text;

    note_need(needs, key);
    look_up_secret(needs, key, &text, &problem);
    if (problem)
        return err_set(err, ERR_NOT_FOUND, "cannot fetch secret '%s': %s", key, problem);
    if (!text.p) {
        needs->is_waiting = true;
        *ret_text = STR(SECRETS_MASK);
        return 0;
    }
    if (pick_field(needs, ref, &text, err) < 0)
        return err_wrap(err, "secret '%s'", key);
    *ret_text = text;
    return 0;
}

/* --- life ------------------------------------------------------------------------------- */

struct secret_cache *secret_cache_new(const struct secret_cache_options *options, struct err *err)
{
    struct secret_cache *cache = mem_zalloc(sizeof(*cache));

    cache->options = *options;
    if (cancel_init(&cache->cancel, err) < 0) {
        free(cache);
        return NULL;
    }
    (void)pthread_mutex_init(&cache->mutex, NULL);
    cache->backends = backends_read(NULL, NULL);
    return cache;
}

void secret_cache_stop(struct secret_cache *cache)
{
    if (!cache || cache->is_stopped)
        return;
    cache->is_stopped = true;
    cancel_raise(&cache->cancel);
    secret_cache_clear(cache);
}

void secret_cache_free(struct secret_cache *cache)
{
    if (!cache)
        return;
    secret_cache_stop(cache);
    cache->is_gone = true;
    if (cache->under_way > 0)
        return; /* the last pending call frees it */
    map_done(&cache->secrets);
    backends_drop(cache->backends);
    cancel_done(&cache->cancel);
    (void)pthread_mutex_destroy(&cache->mutex);
    free(cache);
}
