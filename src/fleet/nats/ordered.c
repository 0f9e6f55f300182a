#include "fleet/nats/ordered.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/nats/error.h"
#include "fleet/nats/hub.h"
#include "fleet/nats/puller.h"
#include "fleet/nats/subject.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

#define NAME_SIZE    32
#define INACTIVE_NS  (INT64_C(30) * 1000000000)
#define EXPIRES_NS   (INT64_C(20) * 1000000000)
#define HEARTBEAT_NS (INT64_C(2) * 1000000000)
/* Pause before it is created again; doubles with each failure. */
#define PAUSE_NS      (INT64_C(200) * 1000000)
#define PAUSE_DOUBLES 6

struct nats_ordered {
    struct nats_grave grave;
    struct nats_hub *hub;
    struct nats_js js;
    struct nats_ordered_options options; /* texts are owned */
    char *stream, *filter;
    struct nats_listener listener;
    struct timer pause;
    struct nats_puller *puller;
    char name[NAME_SIZE];          /* of the consumer */
    struct pending_create *making; /* the call that is under way */
    uint64_t last_seq;             /* of the stream */
    uint64_t next_number;          /* of the consumer */
    unsigned failures;             /* since it last heard of the consumer */
    bool caught_up, stopped;
};

/* Outlives an ordered that is freed meanwhile. */
struct pending_create {
    struct nats_ordered *ordered; /* NULL: not requested */
};

static void make_consumer(struct nats_ordered *ordered);

static struct timers *find_ordered_timers(struct nats_ordered *ordered)
{
    return loop_timers(ordered->hub->loop);
}

static void on_ordered_deleted(void *self, const struct nats_error *error)
{
    (void)self;
    (void)error; /* the server forgets it by itself, later */
}

static void drop_consumer(struct nats_ordered *ordered)
{
    struct err err;

    nats_puller_free(ordered->puller);
    ordered->puller = NULL;
    if (ordered->making)
        ordered->making->ordered = NULL;
    ordered->making = NULL;
    if (ordered->name[0] && nats_conn_state(ordered->js.conn) == NATS_CONN_CONNECTED)
        (void)nats_consumer_delete(&ordered->js, ordered->stream, ordered->name, on_ordered_deleted,
                                   NULL, &err);
    ordered->name[0] = '\0';
}

static void stop_ordered(struct nats_ordered *ordered)
{
    if (ordered->stopped)
        return;
    ordered->stopped = true;
    timer_clear(find_ordered_timers(ordered), &ordered->pause);
    nats_unlisten(ordered->js.conn, &ordered->listener);
    drop_consumer(ordered);
}

static void fail_ordered(struct nats_ordered *ordered, const struct nats_error *error)
{
    stop_ordered(ordered);
    if (ordered->options.failed)
        ordered->options.failed(ordered->options.self, error);
}

static void on_ordered_retry(struct timer *timer)
{
    make_consumer(container_of(timer, struct nats_ordered, pause));
}

static void pause_then_make(struct nats_ordered *ordered)
{
    const int64_t pause = PAUSE_NS << ordered->failures;

    if (ordered->failures < PAUSE_DOUBLES)
        ordered->failures++;
    timer_set(find_ordered_timers(ordered), &ordered->pause, clock_after(clock_now(), pause),
              on_ordered_retry);
}

/* Make another, soon. */
static void reset_ordered(struct nats_ordered *ordered)
{
    drop_consumer(ordered);
    pause_then_make(ordered);
}

/* --- messages ----------------------------------------------------------------------- */

static void tell_caught_up(struct nats_ordered *ordered)
{
    if (ordered->caught_up || ordered->stopped)
        return;
    ordered->caught_up = true;
    if (ordered->options.caught_up)
        ordered->options.caught_up(ordered->options.self);
}

static void on_ordered_message(void *self, const struct nats_msg *msg)
{
    struct nats_ordered *ordered = self;
    struct nats_puller *puller = ordered->puller;
    struct nats_delivery delivery;

    if (!nats_delivery_parse(msg->reply, &delivery) || !str_is(delivery.consumer, ordered->name))
        return;
    if (delivery.consumer_seq != ordered->next_number) {
        reset_ordered(ordered);
        return;
    }
    ordered->next_number++;
    ordered->failures = 0;
    ordered->last_seq = delivery.stream_seq;
    ordered->options.message(ordered->options.self, msg, &delivery);
    if (ordered->stopped || ordered->puller != puller)
        return;
    nats_puller_done(puller, 1);
    if (delivery.pending == 0)
        tell_caught_up(ordered);
}

/* The server always counts a message replaced before its delivery as pending. When it has nothing
 * to deliver, everything was delivered. */
static void on_idle(void *self)
{
    struct nats_ordered *ordered = self;

    ordered->failures = 0;
    tell_caught_up(ordered);
}

static void on_ordered_trouble(void *self, const struct nats_error *error)
{
    (void)error;
    reset_ordered(self);
}

static void on_ordered_pull_failed(void *self, const struct nats_error *error)
{
    struct nats_ordered *ordered = self;

    if (error->fault == NATS_FAULT_DENIED || error->fault == NATS_FAULT_CANCELED)
        fail_ordered(ordered, error);
    else
        reset_ordered(ordered);
}

/* --- the consumer ------------------------------------------------------------------- */

static void start_puller(struct nats_ordered *ordered)
{
    struct nats_error error;
    struct err err;

    ordered->puller = nats_puller_new(&ordered->js,
                                      &(struct nats_puller_options){
                                          .stream = ordered->stream,
                                          .consumer = ordered->name,
                                          .batch = ordered->options.batch,
                                          .expires = EXPIRES_NS,
                                          .heartbeat = HEARTBEAT_NS,
                                          .message = on_ordered_message,
                                          .trouble = on_ordered_trouble,
                                          .failed = on_ordered_pull_failed,
                                          .idle = on_idle,
                                          .self = ordered,
                                      },
                                      &err);
    if (ordered->puller)
        return;
    nats_error_set(&error, NATS_FAULT_CANCELED, 0, "%s", err.text);
    fail_ordered(ordered, &error);
}

static void on_made(void *self, const struct nats_error *error,
                    const struct nats_consumer_info *info)
{
    struct nats_ordered *ordered = ((struct pending_create *)self)->ordered;

    free(self);
    if (!ordered)
        return;
    ordered->making = NULL;
    if (error && error->fault == NATS_FAULT_TIMEOUT) {
        pause_then_make(ordered); /* the server may have made it, or still will */
        return;
    }
    if (error) {
        bool passing = error->fault == NATS_FAULT_DISCONNECTED ||
                       error->fault == NATS_FAULT_NO_RESPONDERS ||
                       (error->fault == NATS_FAULT_NOT_FOUND && ordered->last_seq > 0);

        if (passing)
            reset_ordered(ordered);
        else
            fail_ordered(ordered, error);
        return;
    }
    ordered->next_number = 1;
    start_puller(ordered);
    if (info->pending == 0)
        tell_caught_up(ordered);
}

static void choose_ordered_name(struct nats_ordered *ordered)
{
    (void)snprintf(ordered->name, sizeof(ordered->name), "o%llx",
                   (unsigned long long)chance_number());
}

/* One that was asked for without an answer is asked for again by its name, so that a server that is
 * slow does not end up with one for each attempt. */
static void make_consumer(struct nats_ordered *ordered)
{
    struct nats_consumer_config config = {
        .name = ordered->name,
        .deliver = ordered->last_seq ? (int)NATS_DELIVER_FROM_SEQ : ordered->options.deliver,
        .start_seq = ordered->last_seq ? (int64_t)ordered->last_seq + 1 : 0,
        .start_time = ordered->last_seq ? NULL : ordered->options.start_time,
        .ack = NATS_ACK_NONE,
        .max_deliver = 0,
        .filter_subject = ordered->filter,
        .headers_only = ordered->options.headers_only,
        .inactive_threshold = INACTIVE_NS,
        .replicas = 1,
        .memory = true,
    };
    struct err err;

    if (ordered->stopped || nats_conn_state(ordered->js.conn) != NATS_CONN_CONNECTED)
        return; /* the connection says when it is time */
    if (!ordered->name[0])
        choose_ordered_name(ordered);
    ordered->making = mem_alloc(sizeof(*ordered->making));
    ordered->making->ordered = ordered;
    if (nats_consumer_ensure(&ordered->js, ordered->stream, &config, on_made, ordered->making,
                             &err) == 0)
        return;
    free(ordered->making);
    ordered->making = NULL;
    reset_ordered(ordered); /* too much waits to be sent */
}

static void on_ordered_event(struct nats_listener *listener, const struct nats_event *event)
{
    struct nats_ordered *ordered = container_of(listener, struct nats_ordered, listener);

    switch (event->kind) {
    case NATS_EVENT_CONNECTED:
        timer_clear(find_ordered_timers(ordered), &ordered->pause);
        drop_consumer(ordered); /* what was on its way to us is lost */
        make_consumer(ordered);
        break;
    case NATS_EVENT_CLOSED: fail_ordered(ordered, event->error); break;
    default: break;
    }
}

/* --- life --------------------------------------------------------------------------- */

static void bury_ordered(struct nats_grave *grave)
{
    struct nats_ordered *ordered = container_of(grave, struct nats_ordered, grave);

    free(ordered->stream);
    free(ordered->filter);
    free(ordered);
}

struct nats_ordered *nats_ordered_new(const struct nats_js *js,
                                      const struct nats_ordered_options *options, struct err *err)
{
    struct nats_ordered *ordered;

    if (!nats_subject_is_token(str_from(options->stream)) ||
        (options->filter_subject && !nats_subject_is_pattern(str_from(options->filter_subject)))) {
        err_set(err, ERR_INVALID, "stream '%s', filter '%s': not valid", options->stream,
                options->filter_subject ? options->filter_subject : "");
        return NULL;
    }
    if (nats_conn_state(js->conn) == NATS_CONN_CLOSED) {
        err_set(err, ERR_CANCELED, "the connection is closed");
        return NULL;
    }
    ordered = mem_zalloc(sizeof(*ordered));
    ordered->js = *js;
    ordered->hub = nats_conn_hub(js->conn);
    ordered->options = *options;
    ordered->last_seq = options->after_seq;
    ordered->stream = mem_strdup(options->stream);
    ordered->filter = options->filter_subject ? mem_strdup(options->filter_subject) : NULL;
    nats_listen(js->conn, &ordered->listener, on_ordered_event);
    make_consumer(ordered);
    return ordered;
}

void nats_ordered_free(struct nats_ordered *ordered)
{
    if (!ordered)
        return;
    stop_ordered(ordered);
    nats_hub_bury(ordered->hub, &ordered->grave, bury_ordered);
}
