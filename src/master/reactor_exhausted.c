/*
 * Events that failed as often as the server delivers. What this master gives up itself is recorded
 * before it is acknowledged (reactor_service.c). What a master held that ended, the server gives up
 * later, and says so in a stream, which all masters read: the outcome is recorded then. What it
 * says while nobody hears it, reactor_audit.c finds.
 *
 * An operator sends such an event again with `zester reactor retry`: it is stored once more, with
 * its id, so that the blocks which have acted do not act twice, and with a new time, so that it is
 * not too old.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/ksuid.h"
#include "base/log.h"
#include "bus/store.h"
#include "master/audit.h"
#include "master/announce.h"
#include "master/reactor_engine.h"
#include "nats/ack.h"
#include "nats/consumer.h"
#include "nats/header.h"
#include "nats/kv.h"
#include "nats/publisher.h"
#include "nats/puller.h"
#include "nats/stream.h"
#include "reactor/rule_set.h"
#include "sys/clock.h"
#include "wire/question.h"
#include "wire/subject.h"

#define HELD_MAX     16 /* at once */
#define TRY_AGAIN_NS (5 * CLOCK_SECOND)
#define ANSWER_MAX   ((size_t)4096)
#define PROBES_MAX   1024 /* places where an event is looked for that an operator sends again */
#define TAG          "reactor/exhausted"

/* One message of the stream, or one request of an operator. */
struct salvage {
    struct arena arena; /* the salvage is in it */
    struct reactor_engine *engine;
    struct str reply;
    struct nats_poison poison;
    struct outcome outcome;
    struct question_retried retried;
    struct question_retry question;
    unsigned probes;         /* places where the event was looked for in vain */
    reactor_salvaged_fn *fn; /* of one that nobody has acknowledged; NULL: of any other */
    void *self;
};

static struct salvage *make_salvage(struct reactor_engine *engine, struct str reply)
{
    struct arena arena = ARENA_INIT;
    struct salvage *salvage = ARENA_NEW(&arena, struct salvage);

    salvage->engine = engine;
    salvage->reply = arena_str(&arena, reply);
    salvage->retried = (struct question_retried){ .key = "", .err = "" };
    salvage->arena = arena;
    return salvage;
}

static void free_salvage(struct salvage *salvage)
{
    struct arena arena = salvage->arena;

    arena_done(&arena);
}

static int read_record(struct salvage *salvage, const char *id, nats_kv_entry_fn *fn,
                       struct err *err)
{
    const struct nats_kv kv = { .js = salvage->engine->master->js,
                                .bucket = store_bucket_name(STORE_EVENT_OUTCOMES),
                                .indirect = true };
    char key[OUTCOME_KEY_SIZE];

    outcome_key(id, key);
    return nats_kv_get(&kv, key, fn, salvage, err);
}

static int read_event(struct salvage *salvage, uint64_t seq, nats_stored_fn *fn, struct err *err)
{
    return nats_stream_get(&salvage->engine->master->js, STORE_EVENTS,
                           &(struct nats_which){ .seq = seq }, fn, salvage, err);
}

/* --- telling --------------------------------------------------------------------------- */

static struct value describe(struct arena *arena, const struct outcome *outcome)
{
    struct value_map *map = value_map_new(arena, 3);

    value_map_set(arena, map, value_text("id"), value_text(outcome->id));
    value_map_set(arena, map, value_text("key"), value_text(outcome->key));
    value_map_set(arena, map, value_text("deliveries"), value_int(outcome->deliveries));
    return value_map(map);
}

/* When the event was made, if its id says so. */
static int64_t find_seconds(const char *id)
{
    struct ksuid ksuid = { .seconds = 0 };
    struct err err;

    return ksuid_parse(str_from(id), &ksuid, &err) == 0 ? ksuid.seconds : 0;
}

void reactor_tell_exhausted(struct reactor_engine *engine, const struct outcome *outcome)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct announcement announcement = {
        .tag = TAG,
        .data = describe(&arena, outcome),
        .depth = outcome->depth,
        /* an event that is sent again may be given up again */
        .about = arena_printf(&arena, "%s %llu", outcome->id, (unsigned long long)outcome->seq),
        .seconds = find_seconds(outcome->id),
    };
    struct err err;

    metrics_add(engine->master->metrics, MASTER_REACTOR_EXHAUSTED, 1, NULL, NULL);
    log_error("event was given up id=%s key=%s deliveries=%d", outcome->id, outcome->key,
              outcome->deliveries);
    if (strcmp(outcome->key, EVENT_ORIGIN_MASTER "/" TAG) == 0)
        return; /* else a rule for these that fails would go round in circles */
    if (announce_event(engine->master, &announcement, &err) < 0)
        log_warning("event cannot be stored error=%s", err.text);
}

/* --- what the server says ----------------------------------------------------------------- */

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
        log_warning("an event that was given up is not recorded yet: %s", problem);
    if (!engine->is_stopping && engine->exhausted) {
        if (problem)
            (void)nats_nak(engine->master->js.conn, salvage->reply, TRY_AGAIN_NS, &err);
        else
            (void)nats_ack(engine->master->js.conn, salvage->reply, &err);
        nats_puller_done(engine->exhausted, 1);
    }
    free_salvage(salvage);
}

static void on_kept(void *self)
{
    end_salvage(self, NULL);
}

/* An attempt that was the last may have done everything, and only its ack was lost. */
static void on_previous(void *self, const struct nats_error *error,
                        const struct nats_kv_entry *entry)
{
    struct salvage *salvage = self;
    struct outcome previous = { .reason = "", .parent = "" };
    struct err err;

    if (error && error->fault != NATS_FAULT_NOT_FOUND) {
        end_salvage(salvage, error->text);
        return;
    }
    if (entry &&
        record_decode(&salvage->arena, &outcome_type, 0, entry->value, &previous, &err) == 0) {
        const bool is_known = previous.outcome == OUTCOME_EXHAUSTED &&
                              strcmp(previous.reason, OUTCOME_LAST_DELIVERY) != 0;

        if (is_known || outcome_is_settled(&previous)) {
            end_salvage(salvage, NULL);
            return;
        }
        salvage->outcome.rules = previous.rules;
        salvage->outcome.parent = previous.parent;
    }
    reactor_tell_exhausted(salvage->engine, &salvage->outcome);
    reactor_keep_outcome(salvage->engine, &salvage->outcome, on_kept, salvage);
}

/* Of one that nobody has acknowledged, and that may have been dropped all the same. */
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
        return; /* a gate drops what cannot be read */
    log_error("an event was given up and cannot be read seq=%llu",
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
    if (read_record(salvage, salvage->outcome.id, on_previous, &err) < 0)
        end_salvage(salvage, err.text);
}

static void on_advisory(void *self, const struct nats_msg *msg)
{
    struct salvage *salvage = make_salvage(self, msg->reply);
    struct err err;

    if (!nats_poison_parse(&salvage->arena, msg->payload, &salvage->poison))
        end_salvage(salvage, NULL); /* whatever it was */
    else if (read_event(salvage, salvage->poison.stream_seq, on_lost_event, &err) < 0)
        end_salvage(salvage, err.text);
}

void reactor_salvage(struct reactor_engine *engine, uint64_t seq, reactor_salvaged_fn *fn,
                     void *self)
{
    struct salvage *salvage = make_salvage(engine, STR(""));
    struct err err;

    salvage->fn = fn;
    salvage->self = self;
    salvage->poison =
        (struct nats_poison){ .stream_seq = seq, .deliveries = PIPELINE_DELIVERIES_MAX };
    if (read_event(salvage, seq, on_lost_event, &err) < 0)
        end_salvage(salvage, err.text);
}

/* --- sending again ------------------------------------------------------------------------ */

static void answer_retry(struct salvage *salvage, const char *problem)
{
    struct nats_conn *conn = salvage->engine->master->js.conn;
    AUTO_BUF struct buf bytes = BUF_INIT(ANSWER_MAX);
    struct nats_pub pub = { .subject = salvage->reply };
    struct err err;

    if (problem)
        salvage->retried.err = problem;
    if (record_encode(&bytes, &question_retried_type, &salvage->retried, &err) == 0) {
        pub.payload = buf_view(&bytes);
        if (!salvage->engine->is_stopping && nats_publish(conn, &pub, &err) < 0)
            log_warning("answer to a retry: %s", err.text);
    }
    audit_log(&(struct audit){ .action = "reactor.retry",
                               .by = salvage->question.operator,
                               .id = salvage->question.id,
                               .error = problem });
    free_salvage(salvage);
}

static void on_stored_again(void *self, const struct nats_error *error,
                            const struct nats_stored_ack *ack)
{
    struct salvage *salvage = self;

    if (ack) {
        salvage->retried.seq = ack->seq;
        log_info("event was sent again id=%s key=%s", salvage->outcome.id, salvage->outcome.key);
    }
    answer_retry(salvage, error ? error->text : NULL);
}

static int store_again(struct salvage *salvage, const struct nats_stored *msg, struct event event,
                       struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(REACTOR_EVENT_BYTES), header = BUF_INIT(NATS_HEADER_MAX);
    const int64_t now = clock_wall();

    event.ts = (struct value_time){ now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) };
    if (salvage->outcome.parent[0] &&
        nats_header_add(&header, REACTOR_PARENT_HEADER, str_from(salvage->outcome.parent), err) < 0)
        return -1;
    if (record_encode(&bytes, &event_type, &event, err) < 0)
        return -1;
    return nats_publisher_send(salvage->engine->publisher,
                               &(struct nats_store){ .subject = msg->subject,
                                                     .payload = buf_view(&bytes),
                                                     .header = buf_view(&header) },
                               on_stored_again, salvage, err);
}

static void read_again(struct salvage *salvage);

/* Servers of a cluster may number the messages of a stream differently after one was killed (2.9):
 * the number is that of the server which delivered it, and another one has the event nearby. */
static void probe_next(struct salvage *salvage)
{
    if (++salvage->probes > PROBES_MAX)
        answer_retry(salvage, "the event is no longer stored");
    else
        read_again(salvage);
}

static void on_event_found(void *self, const struct nats_error *error,
                           const struct nats_stored *msg)
{
    struct salvage *salvage = self;
    struct event event;
    struct err err;

    if (error && error->fault != NATS_FAULT_NOT_FOUND)
        answer_retry(salvage, error->text);
    else if (salvage->engine->is_stopping)
        answer_retry(salvage, "this master is stopping");
    else if (error ||
             record_decode(&salvage->arena, &event_type, 0, msg->payload, &event, &err) < 0 ||
             !event.id || strcmp(event.id, salvage->outcome.id) != 0)
        probe_next(salvage);
    else if (store_again(salvage, msg, event, &err) < 0)
        answer_retry(salvage, err.text);
}

/* Where it should be, then one after it, one before it, two after it, and so on. */
static void read_again(struct salvage *salvage)
{
    const uint64_t away = (salvage->probes + 1) / 2, seq = salvage->outcome.seq;
    const bool is_after = salvage->probes % 2 == 1;
    struct err err;

    if (!is_after && away >= seq)
        probe_next(salvage);
    else if (read_event(salvage, is_after ? seq + away : seq - away, on_event_found, &err) < 0)
        answer_retry(salvage, err.text);
}

static void on_record_found(void *self, const struct nats_error *error,
                            const struct nats_kv_entry *entry)
{
    struct salvage *salvage = self;
    struct outcome *outcome = &salvage->outcome;
    struct err err;

    if (error) {
        answer_retry(salvage, error->fault == NATS_FAULT_NOT_FOUND
                                  ? "nothing is recorded about the event"
                                  : error->text);
    } else if (record_decode(&salvage->arena, &outcome_type, 0, entry->value, outcome, &err) < 0) {
        answer_retry(salvage, err.text);
    } else if (outcome->outcome != OUTCOME_EXHAUSTED) {
        answer_retry(salvage, arena_printf(&salvage->arena, "the event was not given up: %s",
                                           outcome_kind_name(outcome->outcome)));
    } else {
        salvage->retried.key = outcome->key;
        read_again(salvage);
    }
}

static void on_retry(void *self, const struct nats_msg *msg)
{
    struct salvage *salvage = make_salvage(self, msg->reply);
    struct err err;

    if (msg->reply.n == 0)
        free_salvage(salvage);
    else if (record_decode(&salvage->arena, &question_retry_type, 0, msg->payload,
                           &salvage->question, &err) < 0 ||
             read_record(salvage, salvage->question.id, on_record_found, &err) < 0)
        answer_retry(salvage, err.text);
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
    const struct nats_sub_options options = {
        .subject = subject_template(SUBJECT_REACTOR_RETRY),
        .queue = subject_queue(SUBJECT_REACTOR_RETRY),
        .message = on_retry,
        .self = engine,
    };

    engine->exhausted = nats_puller_new(&engine->master->js, &puller, err);
    engine->retries = nats_sub_new(engine->master->js.conn, &options, err);
    return engine->exhausted && engine->retries ? 0 : -1;
}

void reactor_leave_exhausted(struct reactor_engine *engine)
{
    nats_puller_free(engine->exhausted);
    engine->exhausted = NULL;
    nats_sub_free(engine->retries);
    engine->retries = NULL;
}
