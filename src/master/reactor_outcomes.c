/* What became of events: a record in the bucket for each, under the event's id. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/sha256.h"
#include "bus/store.h"
#include "master/reactor_engine.h"
#include "nats/consumer.h"
#include "nats/kv.h"
#include "nats/stream.h"
#include "sys/clock.h"

#define OUTCOME_BYTES_MAX ((size_t)1 << 20)
#define POISON_QUEUE      "zester-reactor-exhausted"

struct keeping {
    void (*fn)(void *self);
    void *self;
};

static void on_kept(void *self, const struct nats_error *error, uint64_t revision)
{
    struct keeping *keeping = self;

    (void)revision;
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_warning("an outcome was not kept: %s", error->text);
    if (keeping->fn)
        keeping->fn(keeping->self);
    free(keeping);
}

void reactor_keep_outcome(struct reactor_engine *engine, const struct outcome *outcome,
                          void (*fn)(void *self), void *self)
{
    const struct nats_kv kv = { .js = engine->master->js,
                                .bucket = store_bucket_name(STORE_EVENT_OUTCOMES) };
    AUTO_BUF struct buf bytes = BUF_INIT(OUTCOME_BYTES_MAX);
    struct keeping *keeping = mem_zalloc(sizeof(*keeping));
    const int64_t now = clock_wall();
    struct outcome whole = *outcome;
    char key[OUTCOME_KEY_SIZE];
    struct err err;

    *keeping = (struct keeping){ fn, self };
    whole.master = engine->master->id;
    whole.ts = (struct value_time){ now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) };
    outcome_key(outcome->id, key);
    if (record_encode(&bytes, &outcome_type, &whole, &err) == 0 &&
        nats_kv_put(&kv, key, buf_view(&bytes), on_kept, keeping, &err) == 0)
        return;
    log_warning("an outcome was not kept: %s", err.text);
    on_kept(keeping, NULL, 0);
}

void reactor_note_event(struct reactor_engine *engine, const struct gate_event *event,
                        enum gate_drop drop)
{
    const struct outcome outcome = {
        .id = event->event.id,
        .outcome = drop == GATE_PASS ? OUTCOME_UNMATCHED : OUTCOME_DROPPED,
        .reason = gate_drop_name(drop),
        .key = event->source.key ? event->source.key : "",
        .depth = event->event.depth,
        .provenance = event->event.origin ? event->event.origin : "",
        .parent = "",
    };

    if (!event->event.id || event->event.id[0] == '\0' || gate_is_lifecycle(&event->source))
        return; /* nobody could ask for it, or would: there are as many as jobs */
    if (rate_take(&engine->notes, STR("all"), clock_now()) == 0)
        reactor_keep_outcome(engine, &outcome, NULL, NULL);
}

/* --- messages that the server gave up ------------------------------------------------ */

struct lost {
    struct reactor_engine *engine;
    int64_t deliveries;
};

static void keep_lost(const struct lost *lost, const struct nats_stored *msg)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct event_source source;
    struct event event;
    struct err err;

    if (!event_parse_subject(&arena, msg->subject, &source) ||
        record_decode(&arena, &event_type, 0, msg->payload, &event, &err) < 0 || !event.id ||
        event.id[0] == '\0')
        return;
    log_error("event was given up id=%s key=%s deliveries=%lld", event.id, source.key,
              (long long)lost->deliveries);
    reactor_keep_outcome(lost->engine,
                         &(struct outcome){ .id = event.id,
                                            .outcome = OUTCOME_EXHAUSTED,
                                            .reason = "",
                                            .key = source.key,
                                            .depth = event.depth,
                                            .provenance = event.origin,
                                            .parent = "",
                                            .deliveries = (int32_t)lost->deliveries },
                         NULL, NULL);
}

static void on_lost(void *self, const struct nats_error *error, const struct nats_stored *msg)
{
    struct lost *lost = self;

    if (msg)
        keep_lost(lost, msg);
    else if (error->fault != NATS_FAULT_CANCELED)
        log_error("an event was given up and cannot be read: %s", error->text);
    free(lost);
}

static void on_poison(void *self, const struct nats_poison *poison)
{
    struct reactor_engine *engine = self;
    struct lost *lost = mem_zalloc(sizeof(*lost));
    struct err err;

    *lost = (struct lost){ engine, poison->deliveries };
    metrics_add(engine->master->metrics, MASTER_REACTOR_EXHAUSTED, 1, NULL, NULL);
    if (nats_stream_get(&engine->master->js, STORE_EVENTS,
                        &(struct nats_which){ .seq = poison->stream_seq }, on_lost, lost,
                        &err) == 0)
        return;
    log_error("an event was given up and cannot be read: %s", err.text);
    free(lost);
}

int reactor_watch_poison(struct reactor_engine *engine, struct err *err)
{
    engine->poison = nats_poison_watch_new(&engine->master->js, STORE_EVENTS, STORE_REACTOR,
                                           POISON_QUEUE, on_poison, engine, err);
    return engine->poison ? 0 : -1;
}
