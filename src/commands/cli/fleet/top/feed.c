#include "commands/cli/fleet/top/feed.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/bus/store.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/fleet/top/model.h"
#include "core/data/time_text.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/ordered.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/event.h"
#include "fleet/wire/outcome.h"
#include "fleet/wire/subject.h"

#define JOBS_NS    (INT64_C(24) * 3600 * CLOCK_SECOND)
#define EVENTS_NS  (INT64_C(600) * CLOCK_SECOND)
#define RETURNS_NS (INT64_C(3600) * CLOCK_SECOND)
#define LAG_NS     (2 * CLOCK_SECOND)

enum source_kind { FACTS, BEATS, MASTERS, JOBS, EVENTS, OUTCOMES, RETURNS, LAG };
#define SOURCES (LAG + 1)

/* A question about the lag; its feed may be gone when the answer comes. */
struct lag_question {
    struct top_feed *feed; /* NULL: the feed is gone */
};

struct source {
    struct top_feed *feed;
    enum source_kind kind;
    bool is_ready;
    struct nats_kv_watch *watch;   /* of a bucket that is read whole */
    struct nats_ordered *messages; /* of a stream that is read from some time on */
    const char *since;             /* that time */
};

struct top_feed {
    struct arena arena;
    struct fleet *fleet;
    struct top_model *model;
    void (*changed)(void *self);
    void *self;
    struct source sources[SOURCES];
    struct timer timer; /* of the lag */
    struct lag_question *question;
    bool is_ready, has_failed;
    struct err err;
};

static void note_ready(struct source *source)
{
    struct top_feed *feed = source->feed;
    size_t count = 0;

    source->is_ready = true;
    for (size_t i = 0; i < SOURCES; i++)
        count += feed->sources[i].is_ready;
    feed->is_ready = feed->is_ready || count == SOURCES;
    feed->changed(feed->self);
}

static int read_feed_stream(struct source *source, struct err *err);

/* Returns are counted for jobs that are known. */
static void on_feed_caught_up(void *self)
{
    struct source *source = self;
    struct top_feed *feed = source->feed;

    if (source->kind == JOBS && read_feed_stream(&feed->sources[RETURNS], &feed->err) < 0)
        feed->has_failed = feed->is_ready = true;
    note_ready(source);
}

static void on_feed_failed(void *self, const struct nats_error *error)
{
    struct top_feed *feed = ((struct source *)self)->feed;

    if (!feed->has_failed)
        (void)nats_error_to_err(error, &feed->err);
    feed->has_failed = feed->is_ready = true; /* nothing more will come */
    feed->changed(feed->self);
}

/* --- buckets that are read whole ---------------------------------------------------- */

typedef void take_entry_fn(struct top_model *model, const struct nats_kv_entry *entry);

static const struct {
    enum store_bucket bucket;
    take_entry_fn *take;
} buckets[] = {
    [FACTS] = { STORE_FACTS, top_model_take_facts },
    [BEATS] = { STORE_PEEL_HEARTBEAT, top_model_take_beat },
    [MASTERS] = { STORE_MASTER_HEARTBEAT, top_model_take_master },
};

static void on_feed_entry(void *self, const struct nats_kv_entry *entry)
{
    struct source *source = self;

    buckets[source->kind].take(source->feed->model, entry);
    source->feed->changed(source->feed->self);
}

static int watch_feed_bucket(struct source *source, struct err *err)
{
    const struct nats_kv kv = { .js = source->feed->fleet->js,
                                .bucket = store_bucket_name(buckets[source->kind].bucket) };

    source->watch =
        nats_kv_watch_new(&kv,
                          &(struct nats_kv_watch_options){ .without_deletes = true,
                                                           .entry = on_feed_entry,
                                                           .caught_up = on_feed_caught_up,
                                                           .failed = on_feed_failed,
                                                           .self = source },
                          err);
    return source->watch ? 0 : -1;
}

/* --- streams from some time on ------------------------------------------------------ */

typedef void take_message_fn(struct top_model *model, const struct nats_msg *msg, int64_t time);

static void take_feed_job(struct top_model *model, const struct nats_msg *msg, int64_t time)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;

    (void)time;
    if (msg->payload.n > 0 && /* not a mark of a deletion */
        record_decode(&arena, &job_type, 1, msg->payload, &job, &err) == 0)
        top_model_take_job(model, &job);
}

static void take_feed_event(struct top_model *model, const struct nats_msg *msg, int64_t time)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct event_source source;
    struct event event;
    struct err err;

    if (event_parse_subject(&arena, msg->subject, &source) &&
        record_decode(&arena, &event_type, 0, msg->payload, &event, &err) == 0)
        top_model_take_event(model, &source, &event, time);
}

static void take_outcome(struct top_model *model, const struct nats_msg *msg, int64_t time)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct outcome outcome;
    struct err err;

    (void)time;
    if (msg->payload.n > 0 &&
        record_decode(&arena, &outcome_type, 1, msg->payload, &outcome, &err) == 0)
        top_model_take_outcome(model, &outcome);
}

static void take_feed_return(struct top_model *model, const struct nats_msg *msg, int64_t time)
{
    enum subject_kind kind;
    struct subject_names names;

    (void)time;
    if (subject_parse(msg->subject, &kind, &names) && kind == SUBJECT_JOB_RETURN)
        top_model_count_return(model, names.jid);
}

/* Job records, not the index of active jobs; the senders of returns, not their large payloads. */
static const struct {
    const char *stream, *subject;
    int64_t age;
    take_message_fn *take;
    bool headers_only;
} streams[] = {
    [JOBS] = { "KV_jobs", "$KV.jobs.*", JOBS_NS, take_feed_job, false },
    [EVENTS] = { STORE_EVENTS, "zester.event.>", EVENTS_NS, take_feed_event, false },
    [RETURNS] = { STORE_JOB_EVENTS, "zester.job.*.return.*", RETURNS_NS, take_feed_return, true },
    [OUTCOMES] = { "KV_event-outcomes", "$KV.event-outcomes.*", EVENTS_NS, take_outcome, false },
};

static void on_feed_message(void *self, const struct nats_msg *msg,
                            const struct nats_delivery *delivery)
{
    struct source *source = self;

    streams[source->kind].take(source->feed->model, msg, delivery->time);
    source->feed->changed(source->feed->self);
}

static int read_feed_stream(struct source *source, struct err *err)
{
    struct top_feed *feed = source->feed;

    source->since = time_text(
        &feed->arena,
        (struct value_time){ (clock_wall() - streams[source->kind].age) / CLOCK_SECOND, 0 });
    source->messages = nats_ordered_new(
        &feed->fleet->js,
        &(struct nats_ordered_options){ .stream = streams[source->kind].stream,
                                        .filter_subject = streams[source->kind].subject,
                                        .deliver = NATS_DELIVER_FROM_TIME,
                                        .start_time = source->since,
                                        .message = on_feed_message,
                                        .caught_up = on_feed_caught_up,
                                        .failed = on_feed_failed,
                                        .self = source },
        err);
    return source->messages ? 0 : -1;
}

/* --- lag ---------------------------------------------------------------------------- */

static void on_consumer_lag(void *self, const struct nats_error *error,
                            const struct nats_consumer_info *info)
{
    struct lag_question *question = self;
    struct top_feed *feed = question->feed;

    free(question);
    if (!feed)
        return;
    feed->question = NULL;
    if (!error)
        top_model_set_lag(feed->model, info->pending, info->ack_pending);
    note_ready(&feed->sources[LAG]); /* without a reactor there is no lag, and all is known */
}

static void on_feed_timer(struct timer *timer)
{
    struct top_feed *feed = container_of(timer, struct top_feed, timer);
    struct err err;

    timer_set(loop_timers(feed->fleet->loop), timer, clock_after(clock_now(), LAG_NS),
              on_feed_timer);
    if (feed->question)
        return;
    feed->question = mem_zalloc(sizeof(*feed->question));
    feed->question->feed = feed;
    if (nats_consumer_info(&feed->fleet->js, STORE_EVENTS, STORE_REACTOR, on_consumer_lag,
                           feed->question, &err) == 0)
        return;
    free(feed->question);
    feed->question = NULL;
}

/* --- life --------------------------------------------------------------------------- */

static int start_feed_source(struct source *source, struct err *err)
{
    if (source->kind <= MASTERS)
        return watch_feed_bucket(source, err);
    return source->kind == LAG || source->kind == RETURNS ? 0 : read_feed_stream(source, err);
}

struct top_feed *top_feed_new(struct fleet *fleet, struct top_model *model,
                              void (*changed)(void *self), void *self, struct err *err)
{
    struct top_feed *feed = mem_zalloc(sizeof(*feed));

    feed->fleet = fleet;
    feed->model = model;
    feed->changed = changed;
    feed->self = self;
    for (size_t i = 0; i < SOURCES; i++) {
        feed->sources[i].feed = feed;
        feed->sources[i].kind = (enum source_kind)i;
        if (start_feed_source(&feed->sources[i], err) < 0) {
            top_feed_free(feed);
            return NULL;
        }
    }
    on_feed_timer(&feed->timer);
    return feed;
}

void top_feed_free(struct top_feed *feed)
{
    if (!feed)
        return;
    if (feed->question)
        feed->question->feed = NULL;
    timer_clear(loop_timers(feed->fleet->loop), &feed->timer);
    for (size_t i = 0; i < SOURCES; i++) {
        nats_kv_watch_free(feed->sources[i].watch);
        nats_ordered_free(feed->sources[i].messages);
    }
    arena_done(&feed->arena);
    free(feed);
}

const bool *top_feed_ready(const struct top_feed *feed)
{
    return &feed->is_ready;
}

const struct err *top_feed_failure(const struct top_feed *feed)
{
    return feed->has_failed ? &feed->err : NULL;
}
