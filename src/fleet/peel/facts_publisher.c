#include "fleet/peel/facts_publisher.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/sha256.h"
#include "fleet/bus/store.h"
#include "core/data/json.h"
#include "core/data/msgpack.h"
#include "states/facts/facts.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/peel/netwatch.h"
#include "fleet/peel/snapshot.h"
#include "core/sys/chance.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"
#include "fleet/wire/canary.h"

#define FAMILIES_MEASURED (FACTS_MEMORY | FACTS_DISK)
#define FAMILIES_NAMED    (FACTS_HOST | FACTS_NETWORK) /* cheap, and may change: every time */
#define FAMILIES_ONCE     (FACTS_ALL & ~(FAMILIES_MEASURED | FAMILIES_NAMED | FACTS_CUSTOM))
#define WORKERS           1
/* Bytes of the encoded facts: the limit of a value in the bucket. */
#define FACTS_MAX ((size_t)1 << 20)

/* One collection, in a worker. */
struct round {
    struct background_task background_task;
    struct facts_publisher *facts_publisher;
    struct snapshot *once, *measured; /* of before; NULL: to be collected */
    struct snapshot *result;          /* NULL: nothing usable */
    uint64_t canary;
    char *mistakes;
};

struct facts_publisher {
    struct facts_publisher_options options;
    struct background_tasks background_tasks;
    struct timer look;
    struct snapshot *once, *measured, *current;
    int64_t measured_at;
    uint64_t canary;
    char current_hash[SHA256_HEX_SIZE], published_hash[SHA256_HEX_SIZE];
    char *mistakes; /* that were logged */
    bool is_busy, is_asked_again, is_publishing;
    bool is_in_doubt;    /* a bus that was away may have lost what was published */
    uint64_t generation; /* of the connection: an answer of an old one means nothing */
    struct nats_js js;
    struct timer retry;
    struct netwatch network;
};

/* --- collecting ------------------------------------------------------------------- */

static struct snapshot *collect_family(const struct facts_publisher_options *options,
                                       unsigned families)
{
    struct snapshot *snapshot = snapshot_new();
    struct diags diags = DIAGS_INIT(&snapshot->arena);
    const struct facts_options how = { .id = options->peel_id, .families = families };
    const struct value *facts;

    if (facts_collect(&snapshot->arena, &how, &facts, &diags) == 0)
        snapshot->value = *facts;
    return snapshot;
}

/* The file of the administrator; without it when it has mistakes. */
static void add_custom_facts(struct round *round, struct snapshot *result)
{
    AUTO_BUF struct buf text = BUF_INIT(FACTS_MAX);
    const struct facts_options how = { .families = FACTS_CUSTOM,
                                       .file = round->facts_publisher->options.facts_file };
    struct diags diags = DIAGS_INIT(&result->arena);
    const struct value *facts;

    if (facts_collect(&result->arena, &how, &facts, &diags) == 0) {
        result->value = value_merge(&result->arena, &result->value, facts, VALUE_MERGE_REPLACE);
        return;
    }
    diags_print(&diags, &text);
    round->mistakes = mem_strdup(buf_text(&text));
}

/* Facts that only the agent sets, not the administrator's file. */
static void set_own_fact(struct snapshot *result, const char *key, struct value v)
{
    const struct value name = value_text(key);

    if (v.kind == VALUE_NULL)
        (void)value_map_remove(result->value.map, &name);
    else
        value_map_set(&result->arena, result->value.map, name, value_copy(&result->arena, &v));
}

static void collect_facts_round(struct round *round)
{
    const struct facts_publisher_options *options = &round->facts_publisher->options;
    struct snapshot *result = snapshot_new(), *named;
    struct value merged;

    if (!round->once)
        round->once = collect_family(options, FAMILIES_ONCE);
    if (!round->measured)
        round->measured = collect_family(options, FAMILIES_MEASURED);
    named = collect_family(options, FAMILIES_NAMED);
    merged = value_merge(&result->arena, &round->once->value, &round->measured->value,
                         VALUE_MERGE_REPLACE);
    merged = value_merge(&result->arena, &merged, &named->value, VALUE_MERGE_REPLACE);
    result->value = value_copy(&result->arena, &merged);
    snapshot_drop(named);
    add_custom_facts(round, result);
    if (options->curve_key)
        value_map_set(&result->arena, result->value.map, value_text(FACTS_PUBLISHER_CURVE_KEY),
                      value_text(arena_strdup(&result->arena, options->curve_key)));
    set_own_fact(result, FACTS_ENVIRONMENT,
                 options->environment ? value_text(options->environment) : value_null());
    set_own_fact(result, CANARY_FACT,
                 round->canary ? value_int((int64_t)round->canary) : value_null());
    value_map_set(&result->arena, result->value.map, value_text("id"),
                  value_text(arena_strdup(&result->arena, options->peel_id)));
    result->grains = facts_grains(&result->arena, &result->value);
    round->result = result;
}

/* --- publishing ------------------------------------------------------------------- */

/* The same facts in another order are the same. */
static bool hash_facts(const struct value *facts, char hash[static SHA256_HEX_SIZE])
{
    AUTO_BUF struct buf text = BUF_INIT(4 * FACTS_MAX);
    struct err err;

    if (json_print(&text, facts, JSON_STYLE_SORTED, &err) < 0)
        return false;
    sha256_hex(text.p, text.n, hash);
    return true;
}

static void publish_facts(struct facts_publisher *facts_publisher);

static void on_facts_retry(struct timer *timer)
{
    publish_facts(container_of(timer, struct facts_publisher, retry));
}

/* One write; it outlives its connection by its last callback. */
struct write {
    struct facts_publisher *facts_publisher;
    uint64_t generation;
    bool is_probe; /* for a bucket that has none */
    char hash[SHA256_HEX_SIZE];
};

static void on_facts_put(void *self, const struct nats_error *error, uint64_t revision)
{
    struct write *write = self;
    struct facts_publisher *facts_publisher = write->facts_publisher;

    (void)revision;
    if (error && error->fault == NATS_FAULT_CANCELED) {
        free(write); /* the facts publisher may be gone */
        return;
    }
    if (write->generation == facts_publisher->generation) {
        facts_publisher->is_publishing = false;
        if (write->is_probe && error && error->fault == NATS_FAULT_CONFLICT) {
            facts_publisher->is_in_doubt = false; /* they are there */
            publish_facts(facts_publisher);
        } else if (!error) {
            facts_publisher->is_in_doubt = false;
            memcpy(facts_publisher->published_hash, write->hash, sizeof(write->hash));
            if (facts_publisher->options.published)
                facts_publisher->options.published(facts_publisher->options.self);
            publish_facts(facts_publisher); /* they may have changed meanwhile */
        } else {
            log_warning("facts not published error=%s", error->text);
            timer_set(loop_timers(facts_publisher->options.loop), &facts_publisher->retry,
                      clock_after(clock_now(), FACTS_PUBLISHER_RETRY), on_facts_retry);
        }
    }
    free(write);
}

/* A probe does not replace an existing value. */
static int begin_facts_write(struct facts_publisher *facts_publisher, struct write *write,
                             struct str bytes, struct err *err)
{
    const struct nats_kv kv = { .js = facts_publisher->js,
                                .bucket = store_bucket_name(STORE_FACTS) };

    return write->is_probe ? nats_kv_update(&kv, facts_publisher->options.peel_id, bytes, 0,
                                            on_facts_put, write, err)
                           : nats_kv_put(&kv, facts_publisher->options.peel_id, bytes, on_facts_put,
                                         write, err);
}

static void publish_facts(struct facts_publisher *facts_publisher)
{
    AUTO_BUF struct buf bytes = BUF_INIT((size_t)STORE_FACTS_MAX);
    struct write *write;
    struct err err;

    if (!facts_publisher->js.conn || facts_publisher->is_publishing ||
        (facts_publisher_is_published(facts_publisher) && !facts_publisher->is_in_doubt))
        return;
    if (msgpack_encode(&bytes, &facts_publisher->current->value, &err) < 0) {
        log_error("facts cannot be published error=%s", err.text);
        return;
    }
    write = mem_zalloc(sizeof(*write));
    write->facts_publisher = facts_publisher;
    write->generation = facts_publisher->generation;
    write->is_probe = facts_publisher_is_published(facts_publisher);
    memcpy(write->hash, facts_publisher->current_hash, sizeof(write->hash));
    facts_publisher->is_publishing = true;
    if (begin_facts_write(facts_publisher, write, buf_view(&bytes), &err) == 0)
        return;
    free(write);
    facts_publisher->is_publishing = false;
    timer_set(loop_timers(facts_publisher->options.loop), &facts_publisher->retry,
              clock_after(clock_now(), FACTS_PUBLISHER_RETRY), on_facts_retry);
}

bool facts_publisher_is_published(const struct facts_publisher *facts_publisher)
{
    return strcmp(facts_publisher->current_hash, facts_publisher->published_hash) == 0;
}

/* --- rounds ----------------------------------------------------------------------- */

static void log_mistakes(struct facts_publisher *facts_publisher, char *mistakes)
{
    if (mistakes &&
        (!facts_publisher->mistakes || strcmp(facts_publisher->mistakes, mistakes) != 0))
        log_warning("facts of the administrator are left out file=%s error=%s",
                    facts_publisher->options.facts_file, mistakes);
    free(facts_publisher->mistakes);
    facts_publisher->mistakes = mistakes;
}

/* Take over what a round found. */
static void accept_round(struct facts_publisher *facts_publisher, struct round *round)
{
    char hash[SHA256_HEX_SIZE];

    snapshot_drop(facts_publisher->once);
    snapshot_drop(facts_publisher->measured);
    facts_publisher->once = round->once;
    facts_publisher->measured = round->measured;
    log_mistakes(facts_publisher, round->mistakes);
    if (!hash_facts(&round->result->value, hash) ||
        strcmp(hash, facts_publisher->current_hash) == 0) {
        snapshot_drop(round->result);
        return;
    }
    snapshot_drop(facts_publisher->current);
    facts_publisher->current = round->result;
    memcpy(facts_publisher->current_hash, hash, sizeof(hash));
    if (facts_publisher->options.changed)
        facts_publisher->options.changed(facts_publisher->options.self);
    publish_facts(facts_publisher);
}

static void run_facts_round(struct background_task *background_task)
{
    collect_facts_round(container_of(background_task, struct round, background_task));
}

static void begin_facts_round(struct facts_publisher *facts_publisher);

static void on_facts_collected(struct background_task *background_task)
{
    struct round *round = container_of(background_task, struct round, background_task);
    struct facts_publisher *facts_publisher = round->facts_publisher;

    facts_publisher->is_busy = false;
    accept_round(facts_publisher, round);
    free(round);
    if (facts_publisher->is_asked_again)
        begin_facts_round(facts_publisher);
}

static void begin_facts_round(struct facts_publisher *facts_publisher)
{
    const int64_t now = clock_now();
    struct round *round;

    facts_publisher->is_asked_again = facts_publisher->is_busy;
    if (facts_publisher->is_busy)
        return;
    round = mem_zalloc(sizeof(*round));
    round->facts_publisher = facts_publisher;
    round->canary = facts_publisher->canary;
    round->once = snapshot_hold(facts_publisher->once);
    if (now - facts_publisher->measured_at < FACTS_PUBLISHER_MEASURE)
        round->measured = snapshot_hold(facts_publisher->measured);
    else
        facts_publisher->measured_at = now;
    facts_publisher->is_busy = true;
    background_task_begin(&facts_publisher->background_tasks, &round->background_task,
                          run_facts_round, on_facts_collected);
}

static void on_facts_look(struct timer *timer)
{
    struct facts_publisher *facts_publisher = container_of(timer, struct facts_publisher, look);

    timer_set(loop_timers(facts_publisher->options.loop), timer,
              clock_after(clock_now(), FACTS_PUBLISHER_LOOK), on_facts_look);
    begin_facts_round(facts_publisher);
}

void facts_publisher_put_canary(struct facts_publisher *facts_publisher, uint64_t revision)
{
    if (facts_publisher->canary == revision)
        return;
    facts_publisher->canary = revision;
    begin_facts_round(facts_publisher);
}

void facts_publisher_refresh(struct facts_publisher *facts_publisher)
{
    begin_facts_round(facts_publisher);
}

static void on_network(struct netwatch *netwatch)
{
    begin_facts_round(container_of(netwatch, struct facts_publisher, network));
}

/* --- life ------------------------------------------------------------------------- */

struct facts_publisher *facts_publisher_new(const struct facts_publisher_options *options,
                                            struct err *err)
{
    struct facts_publisher *facts_publisher = mem_zalloc(sizeof(*facts_publisher));
    struct round first = { .facts_publisher = facts_publisher };

    facts_publisher->options = *options;
    facts_publisher->current = snapshot_new();
    facts_publisher->network = (struct netwatch)NETWATCH_INIT;
    if (background_tasks_open_workers(&facts_publisher->background_tasks, options->loop, WORKERS,
                                      err) < 0) {
        facts_publisher_free(facts_publisher);
        return NULL;
    }
    facts_publisher->measured_at = clock_now();
    if (netwatch_start(&facts_publisher->network, options->loop, on_network, err) < 0)
        log_warning("changes of addresses are seen later error=%s", err->text);
    collect_facts_round(&first);
    accept_round(facts_publisher, &first);
    timer_set(loop_timers(options->loop), &facts_publisher->look,
              clock_after(clock_now(), FACTS_PUBLISHER_LOOK), on_facts_look);
    return facts_publisher;
}

void facts_publisher_free(struct facts_publisher *facts_publisher)
{
    if (!facts_publisher)
        return;
    facts_publisher->is_asked_again = false;
    netwatch_stop(&facts_publisher->network);
    background_tasks_close(&facts_publisher->background_tasks);
    timer_clear(loop_timers(facts_publisher->options.loop), &facts_publisher->look);
    timer_clear(loop_timers(facts_publisher->options.loop), &facts_publisher->retry);
    snapshot_drop(facts_publisher->once);
    snapshot_drop(facts_publisher->measured);
    snapshot_drop(facts_publisher->current);
    free(facts_publisher->mistakes);
    free(facts_publisher);
}

/* Not all peels of a fleet at once. */
static int64_t find_probe_delay(void)
{
    return (int64_t)(chance_number() % (uint64_t)FACTS_PUBLISHER_PROBE);
}

void facts_publisher_connect(struct facts_publisher *facts_publisher, const struct nats_js *js)
{
    facts_publisher->generation++;
    facts_publisher->is_publishing = false;
    facts_publisher->js = js ? *js : (struct nats_js){ 0 };
    if (!js || !facts_publisher_is_published(facts_publisher)) {
        publish_facts(facts_publisher);
        return;
    }
    facts_publisher->is_in_doubt = true;
    timer_set(loop_timers(facts_publisher->options.loop), &facts_publisher->retry,
              clock_after(clock_now(), find_probe_delay()), on_facts_retry);
}

struct snapshot *facts_publisher_hold(const struct facts_publisher *facts_publisher)
{
    return snapshot_hold(facts_publisher->current);
}
