#include "fleet/master/reactor/rule_watch.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "fleet/bus/store.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/reactor/published.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/fileset.h"

/* Place of the manifest, see fleet/wire/signature.h. */
#define PLACE "reactor-files/" FILESET_MANIFEST
/* Retry interval for creating the watch. */
#define AGAIN_NS (5 * CLOCK_SECOND)

struct rule_watch {
    struct rule_watch_options options;
    struct nats_kv kv;
    struct nats_kv_watch *entries;
    struct published published;
    struct timer load, again;
    bool is_complete; /* existing entries have been read */
    bool has_set;     /* a revision exists, or the wait for the first one is over */
    bool is_none;     /* no first revision is expected */
};

static void load_watched_rules(struct timer *timer);

static void load_after(struct rule_watch *watch, int64_t pause)
{
    timer_set(loop_timers(watch->options.loop), &watch->load, clock_after(clock_now(), pause),
              load_watched_rules);
}

/* Rejects rules that masters did not publish, and older ones than those in use. Without a manifest
 * there is nothing to verify or load. */
static int check_rule_trust(const struct rule_watch *watch, struct tree_trust_offer *ret_offer,
                            struct err *err)
{
    *ret_offer = (struct tree_trust_offer){
        .manifest = published_find(&watch->published, FILESET_MANIFEST),
        .signature = published_find(&watch->published, FILESET_SIGNATURE),
        .place = PLACE,
    };
    return ret_offer->manifest.p ? tree_trust_check(&watch->options.trust, ret_offer, err) : 0;
}

static struct rule_set *load_published_rules(const struct rule_watch *watch, struct arena *arena,
                                             struct diags *lints, struct err *err)
{
    struct diags diags = DIAGS_INIT(arena);
    struct tree_trust_offer offer;
    struct rule_set *rules;
    struct err unnoted;

    if (check_rule_trust(watch, &offer, err) < 0)
        return NULL;
    rules = published_load(&watch->published, &diags, lints);
    if (!rules)
        (void)diags_to_err(&diags, err);
    else if (tree_trust_note(&watch->options.trust, &offer, &unnoted) < 0)
        log_warning("cannot record which rules were accepted: %s", unnoted.text);
    return rules;
}

static void load_watched_rules(struct timer *timer)
{
    struct rule_watch *watch = container_of(timer, struct rule_watch, load);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags lints = DIAGS_INIT(&arena);
    struct err err;
    struct rule_set *rules = load_published_rules(watch, &arena, &lints, &err);

    watch->has_set = true;
    if (rules) {
        watch->options.loaded(watch->options.self, rules, &lints);
        return;
    }
    load_after(watch, RULE_WATCH_RETRY_NS);
    watch->options.failed(watch->options.self, err.text);
}

int64_t rule_watch_pause(void)
{
    return RULE_WATCH_DEBOUNCE_NS +
           (int64_t)arc4random_uniform((uint32_t)(RULE_WATCH_JITTER_NS / CLOCK_MS)) * CLOCK_MS;
}

static void on_rule_entry(void *self, const struct nats_kv_entry *entry)
{
    struct rule_watch *watch = self;
    const struct str value = entry->value.p ? entry->value : STR("");

    published_put(&watch->published, entry->key,
                  entry->change == NATS_KV_PUT ? value : (struct str){ NULL, 0 });
    if (!str_is(entry->key, FILESET_REVISION))
        return;
    if (watch->is_complete)
        load_after(watch, watch->has_set ? rule_watch_pause() : 0);
    watch->has_set = true;
}

static void on_complete(void *self)
{
    struct rule_watch *watch = self;

    watch->is_complete = true;
    load_after(watch, watch->has_set || watch->is_none ? 0 : RULE_WATCH_FIRST_NS);
}

void rule_watch_expect_none(struct rule_watch *watch)
{
    if (!watch)
        return;
    watch->is_none = true;
    if (watch->is_complete && !watch->has_set)
        load_after(watch, 0);
}

static void on_rule_watch_failed(void *self, const struct nats_error *error);

static int begin_watch(struct rule_watch *watch, struct err *err)
{
    const struct nats_kv_watch_options options = {
        .entry = on_rule_entry,
        .caught_up = on_complete,
        .failed = on_rule_watch_failed,
        .self = watch,
    };

    published_done(&watch->published);
    watch->is_complete = false;
    watch->entries = nats_kv_watch_new(&watch->kv, &options, err);
    return watch->entries ? 0 : -1;
}

static void begin_again(struct timer *timer)
{
    struct rule_watch *watch = container_of(timer, struct rule_watch, again);
    struct err err;

    nats_kv_watch_free(watch->entries);
    watch->entries = NULL;
    if (begin_watch(watch, &err) < 0)
        timer_set(loop_timers(watch->options.loop), &watch->again,
                  clock_after(clock_now(), AGAIN_NS), begin_again);
}

static void on_rule_watch_failed(void *self, const struct nats_error *error)
{
    struct rule_watch *watch = self;

    if (error->fault == NATS_FAULT_CANCELED)
        return;
    timer_set(loop_timers(watch->options.loop), &watch->again, clock_after(clock_now(), AGAIN_NS),
              begin_again);
    watch->options.failed(watch->options.self, error->text);
}

struct rule_watch *rule_watch_new(const struct rule_watch_options *options, struct err *err)
{
    struct rule_watch *watch = mem_zalloc(sizeof(*watch));

    watch->options = *options;
    watch->kv =
        (struct nats_kv){ .js = options->js, .bucket = store_bucket_name(STORE_REACTOR_FILES) };
    if (begin_watch(watch, err) == 0)
        return watch;
    rule_watch_free(watch);
    return NULL;
}

struct str rule_watch_manifest(const struct rule_watch *watch)
{
    return published_find(&watch->published, FILESET_MANIFEST);
}

void rule_watch_free(struct rule_watch *watch)
{
    if (!watch)
        return;
    nats_kv_watch_free(watch->entries);
    timer_clear(loop_timers(watch->options.loop), &watch->load);
    timer_clear(loop_timers(watch->options.loop), &watch->again);
    published_done(&watch->published);
    free(watch);
}
