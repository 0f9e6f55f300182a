#include "fleet/master/export/export_feed.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "fleet/bus/store.h"
#include "core/http/metrics.h"
#include "fleet/master/export/export_conf.h"
#include "fleet/master/export/export_policy.h"
#include "fleet/master/metric.h"
#include "fleet/master/web.h"
#include "fleet/nats/ack.h"
#include "fleet/nats/consumer.h"
#include "fleet/nats/error.h"
#include "fleet/nats/puller.h"
#include "core/sys/cancel.h"
#include "core/sys/chance.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "core/sys/post.h"

#define PROGRESS_NS (FEED_ACK_WAIT_NS / 3)
/* Retry interval for creating the consumer. */
#define ENSURE_NS (5 * CLOCK_SECOND)

/* A queued record, or one being sent. */
struct export_item {
    struct export_item *next;
    struct arena arena;
    struct str reply;
    uint64_t seq;
    unsigned generation;
    struct export_record record;
};

/* A request in a worker. It may outlive the feed. */
struct export_post {
    struct background_task background_task;
    struct export_feed *feed;
    struct arena arena;
    unsigned start; /* of the feed */
    size_t count;
    struct cancel cancel;
    const char *token_file;
    struct post_request request;
    int rc;
    struct post_answer answer;
    struct err err;
};

/* clang-format off */
static const struct {
    const char *stream, *subject;
} sources[EXPORT_KINDS] = {
    [EXPORT_EVENTS]  = { STORE_EVENTS,     "zester.event.>" },
    [EXPORT_RETURNS] = { "KV_job-returns", "$KV.job-returns.*.*" },
    [EXPORT_JOBS]    = { "KV_jobs",        "$KV.jobs.*" },
};
/* clang-format on */

const char *export_feed_stream(enum export_kind kind)
{
    return sources[kind].stream;
}

static struct timers *get_export_timers(const struct export_feed *feed)
{
    return loop_timers(nats_conn_loop(feed->options.js.conn));
}

/* A pending call has ended. False: the feed is stopped. */
static bool end_export_request(struct export_feed *feed)
{
    feed->under_way--;
    if (feed->is_started)
        return true;
    feed->options.came_back(feed->options.self);
    return false;
}

static void advance_export(struct export_feed *feed);

/* --- the queue -------------------------------------------------------------------------- */

static struct export_item *find_export_item(const struct export_feed *feed, uint64_t seq)
{
    for (struct export_item *item = feed->first; item; item = item->next)
        if (item->seq == seq)
            return item;
    return NULL;
}

static struct export_item *take_first(struct export_feed *feed)
{
    struct export_item *item = feed->first;

    feed->first = item->next;
    feed->held--;
    return item;
}

static void free_export_item(struct export_item *item)
{
    arena_done(&item->arena);
    free(item);
}

static void finish_message(struct export_feed *feed, struct str reply, unsigned generation)
{
    struct err err;

    (void)nats_ack(feed->options.js.conn, reply, &err); /* otherwise it is redelivered */
    if (feed->puller && generation == feed->generation)
        nats_puller_done(feed->puller, 1);
}

/* The receiver has accepted them, or refused them for good. */
static void finish_items(struct export_feed *feed, size_t count)
{
    for (size_t i = 0; i < count && feed->first; i++) {
        struct export_item *item = take_first(feed);

        if (item->seq > feed->done_seq)
            feed->done_seq = item->seq;
        finish_message(feed, item->reply, item->generation);
        free_export_item(item);
    }
}

/* Return them to the server in order, for the next master. */
static void return_items(struct export_feed *feed)
{
    struct err err;

    while (feed->first) {
        struct export_item *item = take_first(feed);

        (void)nats_nak(feed->options.js.conn, item->reply, 0, &err);
        free_export_item(item);
    }
}

static void on_export_progress_timer(struct timer *timer)
{
    struct export_feed *feed = container_of(timer, struct export_feed, progress);
    struct err err;

    for (struct export_item *item = feed->first; item; item = item->next)
        (void)nats_ack_progress(feed->options.js.conn, item->reply, &err);
    timer_set(get_export_timers(feed), timer, clock_after(clock_now(), PROGRESS_NS),
              on_export_progress_timer);
}

/* --- requests --------------------------------------------------------------------------- */

static int add_export_token(struct export_post *post, size_t at)
{
    struct str token;

    if (web_read_token(&post->arena, post->token_file, &token, &post->err) < 0)
        return -1;
    post->request.headers[at] =
        arena_printf(&post->arena, "Authorization: Bearer %.*s", STR_ARG(token));
    return 0;
}

static void send_post(struct background_task *background_task)
{
    struct export_post *post_ = container_of(background_task, struct export_post, background_task);
    size_t at = 0;

    while (post_->request.headers[at])
        at++;
    post_->rc = post_->token_file ? add_export_token(post_, at) : 0;
    if (post_->rc == 0)
        post_->rc = post(&post_->request, &post_->answer, &post_->err);
}

static void note_success(struct export_feed *feed, size_t count)
{
    metrics_add(feed->options.metrics, MASTER_EXPORT_SENT, (double)count, feed->options.name, NULL);
    if (feed->failing_since)
        log_info("export '%s': %ss are accepted again after %lld s", feed->options.name,
                 export_kind_name(feed->options.kind),
                 (long long)((clock_now() - feed->failing_since) / CLOCK_SECOND));
    feed->failing_since = 0;
    feed->tries = 0;
    feed->limit = 0;
}

/* Log one line per outage. */
static void note_export_failure(struct export_feed *feed, const struct export_post *post_)
{
    metrics_add(feed->options.metrics, MASTER_EXPORT_FAILED, 1, feed->options.name, NULL);
    if (post_->rc < 0)
        feed->problem = post_->err;
    else
        (void)err_set(&feed->problem, ERR_INVALID, "HTTP status %d", post_->answer.status);
    if (feed->failing_since)
        return;
    feed->failing_since = clock_now();
    log_warning("export '%s': %ss are not accepted: %s; trying again", feed->options.name,
                export_kind_name(feed->options.kind), feed->problem.text);
}

static void give_up_batch(struct export_feed *feed)
{
    log_error("export '%s': gave up after %u attempts id=%s: %s", feed->options.name, feed->tries,
              feed->first->record.id, feed->problem.text);
    metrics_add(feed->options.metrics, MASTER_EXPORT_DROPPED, 1, feed->options.name, NULL);
    finish_items(feed, 1);
    feed->tries = 0;
    feed->limit = 0;
}

static void on_export_retry(struct timer *timer)
{
    advance_export(container_of(timer, struct export_feed, retry));
}

static void judge_post(struct export_feed *feed, const struct export_post *post_)
{
    const struct export_attempt attempt = { .has_answer = post_->rc == 0,
                                            .status = post_->answer.status,
                                            .retry_after = post_->answer.retry_after,
                                            .count = post_->count,
                                            .tries = ++feed->tries,
                                            .chance = chance_number() };
    int64_t pause = 0;
    const enum export_verdict verdict = export_judge(&attempt, &pause);

    if (verdict == EXPORT_SENT) {
        note_success(feed, post_->count);
        finish_items(feed, post_->count);
        return;
    }
    note_export_failure(feed, post_);
    if (verdict == EXPORT_SPLIT) {
        feed->limit = post_->count / 2;
        feed->tries = 0;
    } else if (verdict == EXPORT_GIVE_UP) {
        give_up_batch(feed);
    } else {
        feed->limit = post_->count; /* the same records again */
        timer_set(get_export_timers(feed), &feed->retry, clock_after(clock_now(), pause),
                  on_export_retry);
    }
}

static void on_posted(struct background_task *background_task)
{
    struct export_post *post_ = container_of(background_task, struct export_post, background_task);
    struct export_feed *feed = post_->feed;

    if (feed->post == post_)
        feed->post = NULL;
    if (end_export_request(feed) && post_->start == feed->starts) {
        judge_post(feed, post_);
        advance_export(feed);
    }
    arena_done(&post_->arena);
    free(post_);
}

/* One record as it is, or a list of them. */
static struct str make_export_body(struct arena *arena, const struct export_feed *feed,
                                   size_t count)
{
    AUTO_BUF struct buf body = BUF_INIT(BUF_NO_LIMIT);
    const struct export_item *item = feed->first;

    if (feed->conf->batch == 1)
        return arena_str(arena, item->record.json);
    for (size_t i = 0; i < count; i++, item = item->next) {
        buf_add_char(&body, i ? ',' : '[');
        buf_add_str(&body, item->record.json);
    }
    buf_add_char(&body, ']');
    return buf_copy(&body, arena);
}

static void begin_post(struct export_feed *feed, size_t count)
{
    const struct export_conf *conf = feed->conf;
    struct export_post *post_ = mem_zalloc(sizeof(*post_));
    struct arena *arena = &post_->arena;

    post_->feed = feed;
    post_->start = feed->starts;
    post_->cancel.fd = -1;
    post_->count = count;
    post_->token_file = conf->token_file ? arena_strdup(arena, conf->token_file) : NULL;
    post_->request = (struct post_request){
        .url = arena_strdup(arena, conf->url),
        .body = make_export_body(arena, feed, count),
        .ca = conf->ca ? arena_strdup(arena, conf->ca) : NULL,
        .timeout = conf->timeout,
        .cancel = &post_->cancel,
        .headers = { "Content-Type: application/json",
                     arena_printf(arena, "X-Zester-Type: %s", export_kind_name(feed->options.kind)),
                     conf->batch == 1
                         ? arena_printf(arena, "X-Zester-Id: %s", feed->first->record.id)
                         : NULL },
    };
    feed->post = post_;
    feed->under_way++;
    background_task_begin(feed->options.background_tasks, &post_->background_task, send_post,
                          on_posted);
}

/* Send queued records, unless a request or a pause is in progress. */
static void advance_export(struct export_feed *feed)
{
    size_t count = (size_t)feed->conf->batch;

    if (feed->limit && feed->limit < count)
        count = feed->limit;
    if (feed->held < count)
        count = feed->held;
    if (count > 0 && !feed->post && !timer_is_set(&feed->retry) && !timer_is_set(&feed->patience))
        begin_post(feed, count);
}

/* --- missing messages ------------------------------------------------------------------- */

static void on_patience(struct timer *timer)
{
    struct export_feed *feed = container_of(timer, struct export_feed, patience);

    feed->missing = 0;
    advance_export(feed);
}

/* Wait as long as the server may take to redeliver them. */
static void wait_for_missing(struct export_feed *feed)
{
    timer_set(get_export_timers(feed), &feed->patience,
              clock_after(clock_now(), FEED_ACK_WAIT_NS + CLOCK_SECOND), on_patience);
}

/* Counts messages that were delivered and not acknowledged, but are not here. */
static void count_missing(struct export_feed *feed, const struct nats_consumer_info *info)
{
    const size_t pending = info->ack_pending > 0 ? (size_t)info->ack_pending : 0;
    size_t held = 0;

    for (const struct export_item *item = feed->first; item; item = item->next)
        held += item->seq <= info->delivered_stream_seq;
    feed->missing = pending > held ? pending - held : 0;
    feed->missing_seq = info->delivered_stream_seq;
    if (feed->missing > 0)
        wait_for_missing(feed);
    else
        timer_clear(get_export_timers(feed), &feed->patience);
}

static void note_arrival(struct export_feed *feed, uint64_t seq)
{
    if (feed->missing == 0 || seq > feed->missing_seq || --feed->missing > 0)
        return;
    timer_clear(get_export_timers(feed), &feed->patience);
}

/* In stream order, after the records being sent. */
static void insert_item(struct export_feed *feed, struct export_item *item)
{
    struct export_item **at = &feed->first;

    for (size_t i = 0; feed->post && i < feed->post->count && *at; i++)
        at = &(*at)->next;
    while (*at && (*at)->seq < item->seq)
        at = &(*at)->next;
    item->next = *at;
    *at = item;
    feed->held++;
}

/* --- the consumer ----------------------------------------------------------------------- */

/* A message that is queued or sent: only its newest delivery can be acknowledged. */
static bool take_again(struct export_feed *feed, const struct nats_msg *msg,
                       const struct nats_delivery *delivery)
{
    struct export_item *item;

    if (delivery->deliveries < 2)
        return false;
    item = find_export_item(feed, delivery->stream_seq);
    if (item) {
        item->reply = arena_str(&item->arena, msg->reply);
        nats_puller_done(feed->puller, 1);
        return true;
    }
    if (delivery->stream_seq > feed->done_seq)
        return false;
    note_arrival(feed, delivery->stream_seq);
    finish_message(feed, msg->reply, feed->generation);
    advance_export(feed);
    return true;
}

static void on_exported_message(void *self, const struct nats_msg *msg)
{
    struct export_feed *feed = self;
    struct export_message message = { .subject = msg->subject, .payload = msg->payload };
    struct nats_delivery delivery;
    struct export_item *item;

    if (!nats_delivery_parse(msg->reply, &delivery)) {
        nats_puller_done(feed->puller, 1);
        return;
    }
    if (take_again(feed, msg, &delivery))
        return;
    note_arrival(feed, delivery.stream_seq);
    message.seq = delivery.stream_seq;
    item = mem_zalloc(sizeof(*item));
    if (!export_record_make(&item->arena, feed->options.kind, feed->conf, &message,
                            &item->record)) {
        free_export_item(item);
        finish_message(feed, msg->reply, feed->generation);
        advance_export(feed);
        return;
    }
    item->reply = arena_str(&item->arena, msg->reply);
    item->seq = delivery.stream_seq;
    item->generation = feed->generation;
    insert_item(feed, item);
    advance_export(feed);
}

static void on_ensure(struct timer *timer);

static void arm_consumer_retry(struct export_feed *feed)
{
    timer_set(get_export_timers(feed), &feed->ensure, clock_after(clock_now(), ENSURE_NS),
              on_ensure);
}

static void on_export_trouble(void *self, const struct nats_error *error)
{
    struct export_feed *feed = self;

    if (error->fault == NATS_FAULT_CANCELED || error->fault == NATS_FAULT_DISCONNECTED)
        return;
    log_warning("export '%s': consumer of %s: %s", feed->options.name,
                export_feed_stream(feed->options.kind), error->text);
    arm_consumer_retry(feed);
}

static void on_export_pull_failed(void *self, const struct nats_error *error)
{
    struct export_feed *feed = self;

    nats_puller_free(feed->puller);
    feed->puller = NULL;
    on_export_trouble(feed, error);
    arm_consumer_retry(feed);
}

static void begin_export_pull(struct export_feed *feed)
{
    struct err err;

    if (feed->puller)
        return;
    feed->generation++;
    feed->puller = nats_puller_new(
        &feed->options.js,
        &(struct nats_puller_options){ .stream = export_feed_stream(feed->options.kind),
                                       .consumer = feed->consumer,
                                       .batch = (size_t)feed->conf->batch * 2,
                                       .max_bytes = FEED_BYTES_MAX,
                                       .message = on_exported_message,
                                       .trouble = on_export_trouble,
                                       .failed = on_export_pull_failed,
                                       .self = feed },
        &err);
    if (feed->puller)
        return;
    log_warning("export '%s': %s", feed->options.name, err.text);
    arm_consumer_retry(feed);
}

static void on_export_consumer_ensured(void *self, const struct nats_error *error,
                                       const struct nats_consumer_info *info)
{
    struct export_feed *feed = self;

    if (!end_export_request(feed))
        return;
    if (!error) {
        count_missing(feed, info);
        begin_export_pull(feed);
        advance_export(feed);
        return;
    }
    if (error->fault != NATS_FAULT_CANCELED && error->fault != NATS_FAULT_DISCONNECTED)
        log_warning("export '%s': consumer of %s: %s", feed->options.name,
                    export_feed_stream(feed->options.kind), error->text);
    arm_consumer_retry(feed);
}

static void on_ensure(struct timer *timer)
{
    struct export_feed *feed = container_of(timer, struct export_feed, ensure);
    const struct nats_consumer_config config = {
        .name = feed->consumer,
        .durable = true,
        .description = "Export to a webhook",
        .deliver = NATS_DELIVER_NEW,
        .filter_subject = sources[feed->options.kind].subject,
        .ack_wait = FEED_ACK_WAIT_NS,
        .max_deliver = -1,
        .max_ack_pending = feed->conf->batch * 2,
    };
    struct err err;

    if (nats_consumer_ensure(&feed->options.js, export_feed_stream(feed->options.kind), &config,
                             on_export_consumer_ensured, feed, &err) == 0)
        feed->under_way++;
    else
        arm_consumer_retry(feed);
}

void export_feed_check(struct export_feed *feed)
{
    if (!feed->is_started)
        return;
    wait_for_missing(feed);
    timer_set(get_export_timers(feed), &feed->ensure, clock_now(), on_ensure);
}

static void on_export_backlog(void *self, const struct nats_error *error,
                              const struct nats_consumer_info *info)
{
    struct export_feed *feed = self;

    if (!end_export_request(feed) || error)
        return;
    feed->pending = info->pending + info->ack_pending;
    feed->options.measured(feed->options.self);
}

void export_feed_measure(struct export_feed *feed)
{
    struct err err;

    if (feed->is_started && feed->puller &&
        nats_consumer_info(&feed->options.js, export_feed_stream(feed->options.kind),
                           feed->consumer, on_export_backlog, feed, &err) == 0)
        feed->under_way++;
}

/* --- life ------------------------------------------------------------------------------- */

void export_feed_init(struct export_feed *feed, const struct export_feed_options *options)
{
    *feed = (struct export_feed){ .options = *options };
    (void)snprintf(feed->consumer, sizeof(feed->consumer), FEED_CONSUMER "%.40s", options->name);
}

void export_feed_start(struct export_feed *feed)
{
    if (feed->is_started)
        return;
    feed->is_started = true;
    feed->starts++;
    timer_set(get_export_timers(feed), &feed->progress, clock_after(clock_now(), PROGRESS_NS),
              on_export_progress_timer);
    timer_set(get_export_timers(feed), &feed->ensure, clock_now(), on_ensure);
}

void export_feed_stop(struct export_feed *feed)
{
    if (!feed->is_started)
        return;
    feed->is_started = false;
    timer_clear(get_export_timers(feed), &feed->retry);
    timer_clear(get_export_timers(feed), &feed->progress);
    timer_clear(get_export_timers(feed), &feed->ensure);
    timer_clear(get_export_timers(feed), &feed->patience);
    if (feed->post)
        cancel_raise(&feed->post->cancel); /* records being sent are redelivered */
    feed->post = NULL;
    return_items(feed);
    nats_puller_free(feed->puller);
    feed->puller = NULL;
    feed->done_seq = 0;
    feed->missing = 0;
    feed->limit = 0;
    feed->tries = 0;
    feed->failing_since = 0;
    feed->pending = 0;
}
