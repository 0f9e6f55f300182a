/*
 * Resends events that were given up: stores them again with their id, so that completed actions are
 * not repeated.
 *
 * A master does this once for an event whose masters have all died while processing it. The copy
 * carries a header, so that it is not sent a third time. Everything else is up to operators
 * (`zester reactor retry`).
 */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/master/audit.h"
#include "fleet/master/reactor/reactor_engine.h"
#include "fleet/nats/header.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/publisher.h"
#include "fleet/nats/stream.h"
#include "core/sys/clock.h"
#include "fleet/wire/question.h"
#include "fleet/wire/subject.h"

#define ANSWER_MAX ((size_t)4096)
#define PROBES_MAX 1024 /* positions to search */
#define MSG_ID_MAX (OUTCOME_KEY_SIZE + 64)

struct reactor_again {
    struct arena arena; /* it is in it */
    struct reactor_engine *engine;
    const char *id, *key, *parent;
    uint64_t seq;    /* expected position of the event */
    unsigned probes; /* positions searched without success */
    enum reactor_again_mode mode;
    reactor_again_fn *fn;
    void *self;
};

struct reactor_again *reactor_again_new(struct reactor_engine *engine,
                                        const struct outcome *outcome)
{
    struct arena arena = ARENA_INIT;
    struct reactor_again *again = ARENA_NEW(&arena, struct reactor_again);

    *again = (struct reactor_again){
        .engine = engine,
        .id = arena_strdup(&arena, outcome->id),
        .key = arena_strdup(&arena, outcome->key),
        .parent = arena_strdup(&arena, outcome->parent ? outcome->parent : ""),
        .seq = outcome->seq,
    };
    again->arena = arena;
    return again;
}

static void end_again(struct reactor_again *again, const char *problem, uint64_t seq)
{
    struct arena arena = again->arena;

    again->fn(again->self, problem, seq);
    arena_done(&arena);
}

static void on_retried_event_stored(void *self, const struct nats_error *error,
                                    const struct nats_stored_ack *ack)
{
    struct reactor_again *again = self;

    if (ack)
        log_info("event was sent again id=%s key=%s", again->id, again->key);
    end_again(again, error ? error->text : NULL, ack ? ack->seq : 0);
}

static int make_retry_header(const struct reactor_again *again, struct buf *header, struct err *err)
{
    if (again->parent[0] &&
        nats_header_add(header, REACTOR_PARENT_HEADER, str_from(again->parent), err) < 0)
        return -1;
    return again->mode == REACTOR_AGAIN_ONCE
               ? nats_header_add(header, REACTOR_AGAIN_HEADER, STR("1"), err)
               : 0;
}

/* Two masters may send it at the same time: one is enough. An operator's retry is sent each time. A
 * message always gets an id: a killed server replays its log, and would store a message without one
 * twice (2.9), so that its numbers differ from the other servers' and a consumer that moves between
 * them skips events. */
static struct str make_msg_id(const struct reactor_again *again, struct buf *out)
{
    char key[OUTCOME_KEY_SIZE];

    outcome_key(again->id, key);
    buf_printf(out, "%s again %llu", key, (unsigned long long)again->seq);
    if (again->mode == REACTOR_AGAIN_ASKED)
        buf_printf(out, " %lld", (long long)bus_time());
    return buf_view(out);
}

/* An operator asked for it, so the event is not too old. */
static int print_retried_event(const struct reactor_again *again, const struct nats_stored *msg,
                               const struct event *event, struct buf *out, struct err *err)
{
    const int64_t now = bus_time();
    struct event fresh = *event;

    if (again->mode == REACTOR_AGAIN_ONCE) {
        buf_add_str(out, msg->payload);
        return 0;
    }
    fresh.ts = (struct value_time){ now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) };
    return record_encode(out, &event_type, &fresh, err);
}

static int store_again(struct reactor_again *again, const struct nats_stored *msg,
                       const struct event *event, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(REACTOR_EVENT_BYTES), header = BUF_INIT(NATS_HEADER_MAX),
                        id = BUF_INIT(MSG_ID_MAX);

    if (make_retry_header(again, &header, err) < 0 ||
        print_retried_event(again, msg, event, &bytes, err) < 0)
        return -1;
    return nats_publisher_send(again->engine->publisher,
                               &(struct nats_store){ .subject = msg->subject,
                                                     .payload = buf_view(&bytes),
                                                     .header = buf_view(&header),
                                                     .id = make_msg_id(again, &id) },
                               on_retried_event_stored, again, err);
}

bool reactor_was_sent_again(const struct nats_stored *msg)
{
    struct str value;

    return msg->header.n > 0 && nats_header_find(msg->header, REACTOR_AGAIN_HEADER, &value);
}

static void leave_to_operators(struct reactor_again *again)
{
    log_info("event was already sent again, leaving it to operators id=%s key=%s", again->id,
             again->key);
    end_again(again, NULL, 0);
}

static void find_event(struct reactor_again *again);

/* After a server was killed, servers may number the messages of a stream differently (2.9): the
 * number comes from the server that delivered it, and another one has the event nearby. */
static void probe_next(struct reactor_again *again)
{
    if (++again->probes > PROBES_MAX)
        end_again(again, "the event is no longer stored", 0);
    else
        find_event(again);
}

static void on_retried_event_found(void *self, const struct nats_error *error,
                                   const struct nats_stored *msg)
{
    struct reactor_again *again = self;
    struct event event;
    struct err err;

    if (error && error->fault != NATS_FAULT_NOT_FOUND)
        end_again(again, error->text, 0);
    else if (again->engine->is_stopping)
        end_again(again, "this master is stopping", 0);
    else if (error ||
             record_decode(&again->arena, &event_type, 0, msg->payload, &event, &err) < 0 ||
             !event.id || strcmp(event.id, again->id) != 0)
        probe_next(again);
    else if (again->mode == REACTOR_AGAIN_ONCE && reactor_was_sent_again(msg))
        leave_to_operators(again);
    else if (store_again(again, msg, &event, &err) < 0)
        end_again(again, err.text, 0);
}

/* Search at the expected position, then one after, one before, two after, and so on. */
static void find_event(struct reactor_again *again)
{
    const uint64_t away = (again->probes + 1) / 2;
    const bool is_after = again->probes % 2 == 1;
    struct err err;

    if (!is_after && away >= again->seq)
        probe_next(again);
    else if (nats_stream_get(
                 &again->engine->master->js, STORE_EVENTS,
                 &(struct nats_which){ .seq = is_after ? again->seq + away : again->seq - away },
                 on_retried_event_found, again, &err) < 0)
        end_again(again, err.text, 0);
}

void reactor_again_send(struct reactor_again *again, enum reactor_again_mode mode,
                        reactor_again_fn *fn, void *self)
{
    again->mode = mode;
    again->fn = fn;
    again->self = self;
    if (again->engine->is_stopping)
        end_again(again, "this master is stopping", 0);
    else
        find_event(again);
}

/* --- operators ---------------------------------------------------------------------------- */

struct retry {
    struct arena arena; /* it is in it */
    struct reactor_engine *engine;
    struct str reply;
    struct question_retry question;
    struct question_retried answer;
};

static struct retry *make_retry(struct reactor_engine *engine, struct str reply)
{
    struct arena arena = ARENA_INIT;
    struct retry *retry = ARENA_NEW(&arena, struct retry);

    retry->engine = engine;
    retry->reply = arena_str(&arena, reply);
    retry->answer = (struct question_retried){ .key = "", .err = "" };
    retry->arena = arena;
    return retry;
}

static void answer_retry(struct retry *retry, const char *problem)
{
    AUTO_BUF struct buf bytes = BUF_INIT(ANSWER_MAX);
    struct nats_pub pub = { .subject = retry->reply };
    struct arena arena = retry->arena;
    struct err err;

    if (problem)
        retry->answer.err = problem;
    if (record_encode(&bytes, &question_retried_type, &retry->answer, &err) == 0) {
        pub.payload = buf_view(&bytes);
        if (!retry->engine->is_stopping &&
            nats_publish(retry->engine->master->js.conn, &pub, &err) < 0)
            log_warning("answer to a retry: %s", err.text);
    }
    audit_log(&(struct audit){ .action = "reactor.retry",
                               .by = retry->question.operator,
                               .id = retry->question.id,
                               .error = problem });
    arena_done(&arena);
}

static void on_retried(void *self, const char *problem, uint64_t seq)
{
    struct retry *retry = self;

    retry->answer.seq = seq;
    answer_retry(retry, problem);
}

static void on_outcome_record(void *self, const struct nats_error *error,
                              const struct nats_kv_entry *entry)
{
    struct retry *retry = self;
    struct outcome outcome = { .parent = "" };
    struct err err;

    if (error) {
        answer_retry(retry, error->fault == NATS_FAULT_NOT_FOUND
                                ? "no outcome recorded for the event"
                                : error->text);
    } else if (record_decode(&retry->arena, &outcome_type, 0, entry->value, &outcome, &err) < 0) {
        answer_retry(retry, err.text);
    } else if (outcome.outcome != OUTCOME_EXHAUSTED) {
        answer_retry(retry, arena_printf(&retry->arena, "the event was not given up: %s",
                                         outcome_kind_name(outcome.outcome)));
    } else {
        retry->answer.key = outcome.key;
        reactor_again_send(reactor_again_new(retry->engine, &outcome), REACTOR_AGAIN_ASKED,
                           on_retried, retry);
    }
}

static int read_outcome_record(struct retry *retry, struct err *err)
{
    const struct nats_kv kv = { .js = retry->engine->master->js,
                                .bucket = store_bucket_name(STORE_EVENT_OUTCOMES),
                                .indirect = true };
    char key[OUTCOME_KEY_SIZE];

    outcome_key(retry->question.id, key);
    return nats_kv_get(&kv, key, on_outcome_record, retry, err);
}

static void on_retry_request(void *self, const struct nats_msg *msg)
{
    struct retry *retry;
    struct err err;

    if (msg->reply.n == 0)
        return;
    retry = make_retry(self, msg->reply);
    if (record_decode(&retry->arena, &question_retry_type, 0, msg->payload, &retry->question,
                      &err) < 0 ||
        read_outcome_record(retry, &err) < 0)
        answer_retry(retry, err.text);
}

int reactor_serve_retries(struct reactor_engine *engine, struct err *err)
{
    const struct nats_sub_options options = {
        .subject = subject_template(SUBJECT_REACTOR_RETRY),
        .queue = subject_queue(SUBJECT_REACTOR_RETRY),
        .message = on_retry_request,
        .self = engine,
    };

    engine->retries = nats_sub_new(engine->master->js.conn, &options, err);
    return engine->retries ? 0 : -1;
}
