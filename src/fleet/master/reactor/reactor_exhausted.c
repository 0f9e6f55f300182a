/*
 * Events that failed in all deliveries. An event that this master gives up is recorded before it is
 * acknowledged (reactor_service.c). An event of a master that died is given up later by the server,
 * which reports it in a stream that all masters read: the outcome is recorded then. reactor_audit.c
 * finds lost reports.
 *
 * A failed event is left to operators. An event whose masters have all died is sent again, once
 * (reactor_again.c), and not reported.
 */
#include <string.h>

#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "core/base/log.h"
#include "fleet/bus/store.h"
#include "fleet/master/announce.h"
#include "fleet/master/reactor/reactor_engine.h"
#include "fleet/nats/ack.h"
#include "fleet/nats/consumer.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/publisher.h"
#include "fleet/nats/puller.h"
#include "fleet/nats/stream.h"
#include "fleet/reactor/rule_set.h"
#include "core/sys/clock.h"

#define HELD_MAX     16 /* held at once */
#define TRY_AGAIN_NS (5 * CLOCK_SECOND)
#define TAG          "reactor/exhausted"

/* One message of the stream, or one event found by an audit. */
struct salvage {
    struct arena arena; /* the salvage is in it */
    struct reactor_engine *engine;
    struct str reply;
    struct nats_poison poison;
    struct outcome outcome;
    reactor_salvaged_fn *fn; /* for an unacknowledged event; NULL otherwise */
    void *self;
    bool is_recall; /* resends an event without outcome, silently */
    bool was_again; /* a master has resent it before */
};

static struct salvage *make_salvage(struct reactor_engine *engine, struct str reply)
{
    struct arena arena = ARENA_INIT;
    struct salvage *salvage = ARENA_NEW(&arena, struct salvage);

    salvage->engine = engine;
    salvage->reply = arena_str(&arena, reply);
    salvage->arena = arena;
    return salvage;
}

static void free_salvage(struct salvage *salvage)
{
    struct arena arena = salvage->arena;

    arena_done(&arena);
}

static int read_exhausted_record(struct salvage *salvage, const char *id, nats_kv_entry_fn *fn,
                                 struct err *err)
{
    const struct nats_kv kv = { .js = salvage->engine->master->js,
                                .bucket = store_bucket_name(STORE_EVENT_OUTCOMES),
                                .indirect = true };
    char key[OUTCOME_KEY_SIZE];

    outcome_key(id, key);
    return nats_kv_get(&kv, key, fn, salvage, err);
}

static int read_exhausted_event(struct salvage *salvage, uint64_t seq, nats_stored_fn *fn,
                                struct err *err)
{
    return nats_stream_get(&salvage->engine->master->js, STORE_EVENTS,
                           &(struct nats_which){ .seq = seq }, fn, salvage, err);
}

/* --- reporting ---------------------------------------------------------------------------- */

static struct value describe_exhausted(struct arena *arena, const struct outcome *outcome)
{
    struct value_map *map = value_map_new(arena, 3);

    value_map_set(arena, map, value_text("id"), value_text(outcome->id));
    value_map_set(arena, map, value_text("key"), value_text(outcome->key));
    value_map_set(arena, map, value_text("deliveries"), value_int(outcome->deliveries));
    return value_map(map);
}

/* The creation time in the event's id, if any. */
static int64_t find_seconds(const char *id)
{
    struct ksuid ksuid = { .seconds = 0 };
    struct err err;

    return ksuid_parse(str_from(id), &ksuid, &err) == 0 ? ksuid.seconds : 0;
}

static void count_exhausted(struct reactor_engine *engine, const struct outcome *outcome)
{
    metrics_add(engine->master->metrics, MASTER_REACTOR_EXHAUSTED, 1, NULL, NULL);
    log_error("event was given up id=%s key=%s deliveries=%d", outcome->id, outcome->key,
              outcome->deliveries);
}

static void report_exhausted(struct reactor_engine *engine, const struct outcome *outcome)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct announcement announcement = {
        .tag = TAG,
        .data = describe_exhausted(&arena, outcome),
        .depth = outcome->depth,
        /* a resent event may be given up again */
        .about = arena_printf(&arena, "%s %llu", outcome->id, (unsigned long long)outcome->seq),
        .seconds = find_seconds(outcome->id),
    };
    struct err err;

    if (strcmp(outcome->key, EVENT_ORIGIN_MASTER "/" TAG) == 0)
        return; /* otherwise a failing rule for these would loop */
    if (announce_event(engine->master, &announcement, &err) < 0)
        log_warning("event cannot be stored error=%s", err.text);
}

void reactor_give_up(struct reactor_engine *engine, const struct outcome *outcome,
                     void (*fn)(void *self), void *self)
{
    count_exhausted(engine, outcome);
    report_exhausted(engine, outcome);
    reactor_keep_outcome(engine, outcome, fn, self);
}

/* --- server reports ----------------------------------------------------------------------- */

static void end_salvage(struct salvage *salvage, const char *problem)
{
    struct reactor_engine *engine = salvage->engine;
    struct err err;

    if (salvage->fn) {
        salvage->fn(salvage->self, problem);
        free_salvage(salvage);
        return;
    }
    if (problem)
        log_warning("cannot record an event that was given up yet: %s", problem);
    if (!engine->is_stopping && engine->exhausted) {
        if (problem)
            (void)nats_nak(engine->master->js.conn, salvage->reply, TRY_AGAIN_NS, &err);
        else
            (void)nats_ack(engine->master->js.conn, salvage->reply, &err);
        nats_puller_done(engine->exhausted, 1);
    }
    free_salvage(salvage);
}

static void on_exhausted_given_up(void *self)
{
    end_salvage(self, NULL);
}

static void on_sent_again(void *self, const char *problem, uint64_t seq)
{
    struct salvage *salvage = self;

    if (problem)
        log_warning("cannot send an event again that was given up: %s", problem);
    if (seq == 0)
        report_exhausted(salvage->engine, &salvage->outcome);
    end_salvage(salvage, NULL);
}

/* Not earlier: the outcome of the event replaces the record. */
static void on_exhausted_recorded(void *self)
{
    struct salvage *salvage = self;

    reactor_again_send(reactor_again_new(salvage->engine, &salvage->outcome), REACTOR_AGAIN_ONCE,
                       on_sent_again, salvage);
}

/* `previous`: NULL when nothing is recorded. */
static void give_up_lost(struct salvage *salvage, const struct outcome *previous)
{
    const bool was_tried = previous && previous->rules.list.n > 0;

    if (was_tried || salvage->was_again) {
        reactor_give_up(salvage->engine, &salvage->outcome, on_exhausted_given_up, salvage);
        return;
    }
    count_exhausted(salvage->engine, &salvage->outcome);
    reactor_keep_outcome(salvage->engine, &salvage->outcome, on_exhausted_recorded, salvage);
}

/* Already recorded, or already resent. */
static bool is_exhausted_known(const struct salvage *salvage, const struct outcome *previous)
{
    const uint64_t seq = salvage->outcome.seq;

    return previous->outcome == OUTCOME_EXHAUSTED &&
           (previous->seq > seq ||
            (previous->seq == seq && strcmp(previous->reason, OUTCOME_LAST_DELIVERY) != 0));
}

static void on_exhausted_recalled(void *self, const char *problem, uint64_t seq)
{
    (void)seq;
    end_salvage(self, problem);
}

static void recall_exhausted_event(struct salvage *salvage)
{
    log_warning("event has no outcome and is sent again id=%s key=%s", salvage->outcome.id,
                salvage->outcome.key);
    reactor_again_send(reactor_again_new(salvage->engine, &salvage->outcome), REACTOR_AGAIN_ONCE,
                       on_exhausted_recalled, salvage);
}

/* The last attempt may have completed, with only its ack lost. */
static void on_previous(void *self, const struct nats_error *error,
                        const struct nats_kv_entry *entry)
{
    struct salvage *salvage = self;
    struct outcome previous = { .reason = "", .parent = "" };
    bool is_on_record;
    struct err err;

    if (error && error->fault != NATS_FAULT_NOT_FOUND) {
        end_salvage(salvage, error->text);
        return;
    }
    is_on_record =
        entry &&
        record_decode(&salvage->arena, &outcome_type, 0, entry->value, &previous, &err) == 0 &&
        strcmp(previous.key, salvage->outcome.key) == 0;
    if (salvage->is_recall) {
        if (is_on_record)
            end_salvage(salvage, NULL);
        else
            recall_exhausted_event(salvage);
        return;
    }
    if (is_on_record) {
        if (is_exhausted_known(salvage, &previous) || outcome_is_settled(&previous)) {
            end_salvage(salvage, NULL);
            return;
        }
        salvage->outcome.rules = previous.rules;
        salvage->outcome.parent = previous.parent;
    }
    give_up_lost(salvage, is_on_record ? &previous : NULL);
}

/* For an unacknowledged event, which may have been dropped anyway. */
static bool is_for_rules(const struct salvage *salvage, const char *key)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct rule_matches matches = { VEC_INIT };

    rule_set_match(salvage->engine->pipeline.rules, &arena, str_from(key), &matches);
    return matches.list.n > 0;
}

static void count_unreadable(struct salvage *salvage)
{
    if (salvage->fn)
        return; /* a gate drops malformed events */
    log_error("cannot read an event that was given up seq=%llu",
              (unsigned long long)salvage->poison.stream_seq);
    metrics_add(salvage->engine->master->metrics, MASTER_REACTOR_EXHAUSTED, 1, NULL, NULL);
}

static void on_lost_event(void *self, const struct nats_error *error, const struct nats_stored *msg)
{
    struct salvage *salvage = self;
    struct event_source source;
    struct event event;
    struct err err;

    if (error && error->fault != NATS_FAULT_NOT_FOUND) {
        end_salvage(salvage, error->text);
        return;
    }
    if (!msg || !event_parse_subject(&salvage->arena, msg->subject, &source) ||
        record_decode(&salvage->arena, &event_type, 0, msg->payload, &event, &err) < 0 ||
        !event.id || event.id[0] == '\0') {
        count_unreadable(salvage);
        end_salvage(salvage, NULL);
        return;
    }
    if (salvage->fn && !is_for_rules(salvage, source.key)) {
        end_salvage(salvage, NULL);
        return;
    }
    salvage->was_again = reactor_was_sent_again(msg);
    salvage->outcome = (struct outcome){
        .id = arena_strdup(&salvage->arena, event.id),
        .outcome = OUTCOME_EXHAUSTED,
        .reason = salvage->fn ? OUTCOME_UNACCOUNTED : "",
        .key = source.key,
        .depth = event.depth,
        .provenance = arena_strdup(&salvage->arena, event.origin),
        .parent = "",
        .deliveries = (int32_t)salvage->poison.deliveries,
        .seq = salvage->poison.stream_seq,
    };
    if (read_exhausted_record(salvage, salvage->outcome.id, on_previous, &err) < 0)
        end_salvage(salvage, err.text);
}

static void on_advisory(void *self, const struct nats_msg *msg)
{
    struct salvage *salvage = make_salvage(self, msg->reply);
    struct err err;

    if (!nats_poison_parse(&salvage->arena, msg->payload, &salvage->poison))
        end_salvage(salvage, NULL); /* in any case */
    else if (read_exhausted_event(salvage, salvage->poison.stream_seq, on_lost_event, &err) < 0)
        end_salvage(salvage, err.text);
}

static void begin_salvage(struct salvage *salvage, uint64_t seq, reactor_salvaged_fn *fn,
                          void *self)
{
    struct err err;

    salvage->fn = fn;
    salvage->self = self;
    salvage->poison =
        (struct nats_poison){ .stream_seq = seq, .deliveries = PIPELINE_DELIVERIES_MAX };
    if (read_exhausted_event(salvage, seq, on_lost_event, &err) < 0)
        end_salvage(salvage, err.text);
}

void reactor_salvage(struct reactor_engine *engine, uint64_t seq, reactor_salvaged_fn *fn,
                     void *self)
{
    begin_salvage(make_salvage(engine, STR("")), seq, fn, self);
}

void reactor_recall(struct reactor_engine *engine, uint64_t seq, reactor_salvaged_fn *fn,
                    void *self)
{
    struct salvage *salvage = make_salvage(engine, STR(""));

    salvage->is_recall = true;
    begin_salvage(salvage, seq, fn, self);
}

/* --- life --------------------------------------------------------------------------------- */

int reactor_watch_exhausted(struct reactor_engine *engine, struct err *err)
{
    const struct nats_puller_options puller = {
        .stream = STORE_EXHAUSTED,
        .consumer = STORE_EXHAUSTED,
        .batch = HELD_MAX,
        .message = on_advisory,
        .self = engine,
    };

    engine->exhausted = nats_puller_new(&engine->master->js, &puller, err);
    return engine->exhausted ? reactor_serve_retries(engine, err) : -1;
}

void reactor_leave_exhausted(struct reactor_engine *engine)
{
    nats_puller_free(engine->exhausted);
    engine->exhausted = NULL;
    nats_sub_free(engine->retries);
    engine->retries = NULL;
}
