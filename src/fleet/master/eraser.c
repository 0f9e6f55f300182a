#include "fleet/master/eraser.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "fleet/bus/store.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

/* A cluster that has lost a server finds a new leader within seconds. */
#define PAUSE_NS CLOCK_SECOND

/* A key or pattern to remove. */
struct erasure {
    struct eraser *eraser; /* NULL: freed during a request */
    struct erasure *next, **back;
    struct nats_kv kv;
    struct timer timer;
    unsigned tries;
    bool is_asked, is_pattern;
    char key[];
};

struct eraser {
    struct loop *loop;
    struct erasure *first;
    size_t count;
};

static void unlink_erasure(struct erasure *erasure)
{
    timer_clear(loop_timers(erasure->eraser->loop), &erasure->timer);
    *erasure->back = erasure->next;
    if (erasure->next)
        erasure->next->back = erasure->back;
    erasure->eraser->count--;
    erasure->eraser = NULL;
}

static void end_erasure(struct erasure *erasure)
{
    if (erasure->eraser)
        unlink_erasure(erasure);
    free(erasure);
}

static void erase_next(struct timer *timer);

static void arm_eraser(struct erasure *erasure, const char *why)
{
    log_warning("key cannot be removed bucket=%s key=%s error=%s", erasure->kv.bucket, erasure->key,
                why);
    if (++erasure->tries == ERASER_TRIES_MAX)
        end_erasure(erasure);
    else
        timer_set(loop_timers(erasure->eraser->loop), &erasure->timer,
                  clock_after(clock_now(), PAUSE_NS), erase_next);
}

static void finish_try(struct erasure *erasure, const struct nats_error *error)
{
    erasure->is_asked = false;
    if (erasure->eraser && error && error->fault != NATS_FAULT_CANCELED)
        arm_eraser(erasure, error->text);
    else
        end_erasure(erasure);
}

static void on_key_erased(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)revision;
    finish_try(self, error);
}

static void on_erasable_key(void *self, const struct nats_error *error,
                            const struct nats_kv_entry *entry)
{
    struct erasure *erasure = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (error || !entry)
        finish_try(erasure, error);
    else if (erasure->eraser)
        eraser_remove(erasure->eraser, &erasure->kv,
                      arena_strndup(&arena, entry->key.p, entry->key.n));
}

static void erase_next(struct timer *timer)
{
    struct erasure *erasure = container_of(timer, struct erasure, timer);
    struct err err;
    int result;

    erasure->is_asked = true;
    result = erasure->is_pattern
                 ? nats_kv_keys(&erasure->kv, erasure->key, on_erasable_key, erasure, &err)
                 : nats_kv_purge(&erasure->kv, erasure->key, 0, on_key_erased, erasure, &err);
    if (result == 0)
        return;
    erasure->is_asked = false;
    arm_eraser(erasure, err.text);
}

static void add_erasure(struct eraser *eraser, const struct nats_kv *kv, const char *key,
                        bool is_pattern)
{
    struct erasure *erasure = mem_zalloc(sizeof(*erasure) + strlen(key) + 1);

    erasure->eraser = eraser;
    erasure->kv = *kv;
    erasure->is_pattern = is_pattern;
    memcpy(erasure->key, key, strlen(key));
    erasure->next = eraser->first;
    erasure->back = &eraser->first;
    if (erasure->next)
        erasure->next->back = &erasure->next;
    eraser->first = erasure;
    eraser->count++;
    erase_next(&erasure->timer);
}

void eraser_remove(struct eraser *eraser, const struct nats_kv *kv, const char *key)
{
    add_erasure(eraser, kv, key, false);
}

void eraser_remove_all(struct eraser *eraser, const struct nats_kv *kv, const char *pattern)
{
    add_erasure(eraser, kv, pattern, true);
}

static struct nats_kv get_erased_bucket(const struct nats_js *js, enum store_bucket bucket)
{
    return (struct nats_kv){ .js = *js,
                             .bucket = store_bucket_name(bucket),
                             .history = store_bucket_history(bucket) };
}

void eraser_remove_peel(struct eraser *eraser, const struct nats_js *js, const char *peel)
{
    static const enum store_bucket buckets[] = { STORE_FACTS, STORE_SECRETS, STORE_PEEL_HEARTBEAT };
    const struct nats_kv basket = get_erased_bucket(js, STORE_BASKET);
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(buckets); i++) {
        const struct nats_kv kv = get_erased_bucket(js, buckets[i]);

        eraser_remove(eraser, &kv, peel);
    }
    eraser_remove_all(eraser, &basket, arena_printf(&arena, "%s.>", peel));
}

size_t eraser_waiting(const struct eraser *eraser)
{
    return eraser->count;
}

struct eraser *eraser_new(struct loop *loop)
{
    struct eraser *eraser = mem_zalloc(sizeof(*eraser));

    eraser->loop = loop;
    return eraser;
}

void eraser_free(struct eraser *eraser)
{
    struct erasure *next;

    if (!eraser)
        return;
    for (struct erasure *erasure = eraser->first; erasure; erasure = next) {
        next = erasure->next;
        unlink_erasure(erasure);
        if (!erasure->is_asked) /* otherwise its answer frees it */
            free(erasure);
    }
    free(eraser);
}
