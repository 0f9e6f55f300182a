#include "fleet/peel/dossier.h"

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
#include "core/sys/chore.h"
#include "core/sys/clock.h"
#include "fleet/wire/canary.h"

#define FAMILIES_MEASURED (FACTS_MEMORY | FACTS_DISK)
#define FAMILIES_NAMED    (FACTS_HOST | FACTS_NETWORK) /* cheap, and may change: every time */
#define FAMILIES_ONCE     (FACTS_ALL & ~(FAMILIES_MEASURED | FAMILIES_NAMED | FACTS_CUSTOM))
#define WORKERS           1
/* Of the facts as bytes: what a value of a bucket may have. */
#define FACTS_MAX ((size_t)1 << 20)

/* One collection, in a worker. */
struct round {
    struct chore chore;
    struct dossier *dossier;
    struct snapshot *once, *measured; /* of before; NULL: to be collected */
    struct snapshot *result;          /* NULL: nothing usable */
    uint64_t canary;
    char *mistakes;
};

struct dossier {
    struct dossier_options options;
    struct chores chores;
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

static struct snapshot *collect_family(const struct dossier_options *options, unsigned families)
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
static void add_custom(struct round *round, struct snapshot *result)
{
    AUTO_BUF struct buf text = BUF_INIT(FACTS_MAX);
    const struct facts_options how = { .families = FACTS_CUSTOM,
                                       .file = round->dossier->options.facts_file };
    struct diags diags = DIAGS_INIT(&result->arena);
    const struct value *facts;

    if (facts_collect(&result->arena, &how, &facts, &diags) == 0) {
        result->value = value_merge(&result->arena, &result->value, facts, VALUE_MERGE_REPLACE);
        return;
    }
    diags_print(&diags, &text);
    round->mistakes = mem_strdup(buf_text(&text));
}

/* What only the agent knows: the file of the administrator cannot say it. */
static void set_own_fact(struct snapshot *result, const char *key, struct value v)
{
    const struct value name = value_text(key);

    if (v.kind == VALUE_NULL)
        (void)value_map_remove(result->value.map, &name);
    else
        value_map_set(&result->arena, result->value.map, name, value_copy(&result->arena, &v));
}

static void collect(struct round *round)
{
    const struct dossier_options *options = &round->dossier->options;
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
    add_custom(round, result);
    if (options->curve_key)
        value_map_set(&result->arena, result->value.map, value_text(DOSSIER_CURVE_KEY),
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

static void publish(struct dossier *dossier);

static void on_retry(struct timer *timer)
{
    publish(container_of(timer, struct dossier, retry));
}

/* One write; it outlives its connection by its last callback. */
struct write {
    struct dossier *dossier;
    uint64_t generation;
    bool is_probe; /* for a bucket that has none */
    char hash[SHA256_HEX_SIZE];
};

static void on_published(void *self, const struct nats_error *error, uint64_t revision)
{
    struct write *write = self;
    struct dossier *dossier = write->dossier;

    (void)revision;
    if (error && error->fault == NATS_FAULT_CANCELED) {
        free(write); /* the dossier may be gone */
        return;
    }
    if (write->generation == dossier->generation) {
        dossier->is_publishing = false;
        if (write->is_probe && error && error->fault == NATS_FAULT_CONFLICT) {
            dossier->is_in_doubt = false; /* they are there */
            publish(dossier);
        } else if (!error) {
            dossier->is_in_doubt = false;
            memcpy(dossier->published_hash, write->hash, sizeof(write->hash));
            if (dossier->options.published)
                dossier->options.published(dossier->options.self);
            publish(dossier); /* they may have changed meanwhile */
        } else {
            log_warning("facts not published error=%s", error->text);
            timer_set(loop_timers(dossier->options.loop), &dossier->retry,
                      clock_after(clock_now(), DOSSIER_RETRY), on_retry);
        }
    }
    free(write);
}

/* What is there stays as it is when it is only a probe. */
static int begin_write(struct dossier *dossier, struct write *write, struct str bytes,
                       struct err *err)
{
    const struct nats_kv kv = { .js = dossier->js, .bucket = store_bucket_name(STORE_FACTS) };

    return write->is_probe
               ? nats_kv_update(&kv, dossier->options.peel_id, bytes, 0, on_published, write, err)
               : nats_kv_put(&kv, dossier->options.peel_id, bytes, on_published, write, err);
}

static void publish(struct dossier *dossier)
{
    AUTO_BUF struct buf bytes = BUF_INIT((size_t)STORE_FACTS_MAX);
    struct write *write;
    struct err err;

    if (!dossier->js.conn || dossier->is_publishing ||
        (dossier_is_published(dossier) && !dossier->is_in_doubt))
        return;
    if (msgpack_encode(&bytes, &dossier->current->value, &err) < 0) {
        log_error("facts cannot be published error=%s", err.text);
        return;
    }
    write = mem_zalloc(sizeof(*write));
    write->dossier = dossier;
    write->generation = dossier->generation;
    write->is_probe = dossier_is_published(dossier);
    memcpy(write->hash, dossier->current_hash, sizeof(write->hash));
    dossier->is_publishing = true;
    if (begin_write(dossier, write, buf_view(&bytes), &err) == 0)
        return;
    free(write);
    dossier->is_publishing = false;
    timer_set(loop_timers(dossier->options.loop), &dossier->retry,
              clock_after(clock_now(), DOSSIER_RETRY), on_retry);
}

bool dossier_is_published(const struct dossier *dossier)
{
    return strcmp(dossier->current_hash, dossier->published_hash) == 0;
}

/* --- rounds ----------------------------------------------------------------------- */

static void log_mistakes(struct dossier *dossier, char *mistakes)
{
    if (mistakes && (!dossier->mistakes || strcmp(dossier->mistakes, mistakes) != 0))
        log_warning("facts of the administrator are left out file=%s error=%s",
                    dossier->options.facts_file, mistakes);
    free(dossier->mistakes);
    dossier->mistakes = mistakes;
}

/* Take over what a round found. */
static void accept_round(struct dossier *dossier, struct round *round)
{
    char hash[SHA256_HEX_SIZE];

    snapshot_drop(dossier->once);
    snapshot_drop(dossier->measured);
    dossier->once = round->once;
    dossier->measured = round->measured;
    log_mistakes(dossier, round->mistakes);
    if (!hash_facts(&round->result->value, hash) || strcmp(hash, dossier->current_hash) == 0) {
        snapshot_drop(round->result);
        return;
    }
    snapshot_drop(dossier->current);
    dossier->current = round->result;
    memcpy(dossier->current_hash, hash, sizeof(hash));
    if (dossier->options.changed)
        dossier->options.changed(dossier->options.self);
    publish(dossier);
}

static void work(struct chore *chore)
{
    collect(container_of(chore, struct round, chore));
}

static void begin_round(struct dossier *dossier);

static void on_done(struct chore *chore)
{
    struct round *round = container_of(chore, struct round, chore);
    struct dossier *dossier = round->dossier;

    dossier->is_busy = false;
    accept_round(dossier, round);
    free(round);
    if (dossier->is_asked_again)
        begin_round(dossier);
}

static void begin_round(struct dossier *dossier)
{
    const int64_t now = clock_now();
    struct round *round;

    dossier->is_asked_again = dossier->is_busy;
    if (dossier->is_busy)
        return;
    round = mem_zalloc(sizeof(*round));
    round->dossier = dossier;
    round->canary = dossier->canary;
    round->once = snapshot_hold(dossier->once);
    if (now - dossier->measured_at < DOSSIER_MEASURE)
        round->measured = snapshot_hold(dossier->measured);
    else
        dossier->measured_at = now;
    dossier->is_busy = true;
    chore_begin(&dossier->chores, &round->chore, work, on_done);
}

static void on_look(struct timer *timer)
{
    struct dossier *dossier = container_of(timer, struct dossier, look);

    timer_set(loop_timers(dossier->options.loop), timer, clock_after(clock_now(), DOSSIER_LOOK),
              on_look);
    begin_round(dossier);
}

void dossier_put_canary(struct dossier *dossier, uint64_t revision)
{
    if (dossier->canary == revision)
        return;
    dossier->canary = revision;
    begin_round(dossier);
}

void dossier_refresh(struct dossier *dossier)
{
    begin_round(dossier);
}

static void on_network(struct netwatch *netwatch)
{
    begin_round(container_of(netwatch, struct dossier, network));
}

/* --- life ------------------------------------------------------------------------- */

struct dossier *dossier_new(const struct dossier_options *options, struct err *err)
{
    struct dossier *dossier = mem_zalloc(sizeof(*dossier));
    struct round first = { .dossier = dossier };

    dossier->options = *options;
    dossier->current = snapshot_new();
    dossier->network = (struct netwatch)NETWATCH_INIT;
    if (chores_open_workers(&dossier->chores, options->loop, WORKERS, err) < 0) {
        dossier_free(dossier);
        return NULL;
    }
    dossier->measured_at = clock_now();
    if (netwatch_start(&dossier->network, options->loop, on_network, err) < 0)
        log_warning("changes of addresses are seen later error=%s", err->text);
    collect(&first);
    accept_round(dossier, &first);
    timer_set(loop_timers(options->loop), &dossier->look, clock_after(clock_now(), DOSSIER_LOOK),
              on_look);
    return dossier;
}

void dossier_free(struct dossier *dossier)
{
    if (!dossier)
        return;
    dossier->is_asked_again = false;
    netwatch_stop(&dossier->network);
    chores_close(&dossier->chores);
    timer_clear(loop_timers(dossier->options.loop), &dossier->look);
    timer_clear(loop_timers(dossier->options.loop), &dossier->retry);
    snapshot_drop(dossier->once);
    snapshot_drop(dossier->measured);
    snapshot_drop(dossier->current);
    free(dossier->mistakes);
    free(dossier);
}

/* Not all peels of a fleet at once. */
static int64_t find_probe_delay(void)
{
    return (int64_t)(chance_number() % (uint64_t)DOSSIER_PROBE);
}

void dossier_connect(struct dossier *dossier, const struct nats_js *js)
{
    dossier->generation++;
    dossier->is_publishing = false;
    dossier->js = js ? *js : (struct nats_js){ 0 };
    if (!js || !dossier_is_published(dossier)) {
        publish(dossier);
        return;
    }
    dossier->is_in_doubt = true;
    timer_set(loop_timers(dossier->options.loop), &dossier->retry,
              clock_after(clock_now(), find_probe_delay()), on_retry);
}

struct snapshot *dossier_hold(const struct dossier *dossier)
{
    return snapshot_hold(dossier->current);
}
