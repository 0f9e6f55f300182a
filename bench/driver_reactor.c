/* driver_reactor MODE URL AUTH COUNT [TAG]: events for a master, and the least that could be done
 * with them, over a connection with the credentials admin.creds of the folder AUTH.
 *
 *     floor      publish COUNT events to a stream of its own, pull and acknowledge them with the
 *                parameters of the reactor's consumer, in one loop
 *     reactor    publish COUNT events with TAG, wait until masters have acknowledged all
 *     floor-pace, reactor-pace   the same at PACE events a second. The floor prints the latency of
 *                each in nanoseconds; the moment of sending is `t` in the data of the event
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/ksuid.h"
#include "base/mem.h"
#include "base/number.h"
#include "bus/link.h"
#include "bus/store.h"
#include "nats/ack.h"
#include "nats/conn.h"
#include "nats/consumer.h"
#include "nats/error.h"
#include "nats/hub.h"
#include "nats/publisher.h"
#include "nats/puller.h"
#include "nats/stream.h"
#include "sys/clock.h"
#include "sys/loop.h"
#include "wire/event.h"

#define WINDOW  1024
#define HELD    32 /* of a master with its default of workers */
#define PACE_NS (CLOCK_SECOND / 1000)
#define POLL_NS (2 * CLOCK_MS)
#define STREAM  "bench"
#define SUBJECT "zester.update.bench"

struct bench {
    struct loop *loop;
    struct nats_hub *hub;
    struct link *link;
    struct nats_js js;
    struct nats_listener listener;
    struct nats_publisher *publisher;
    struct nats_puller *puller;
    struct timer timer;
    const char *subject, *tag;
    uint64_t count, sent, stored, got, last_seq;
    int64_t due;
    bool is_paced, is_connected, is_done;
    struct err err;
};

static void die(const char *text)
{
    (void)fprintf(stderr, "driver_reactor: %s\n", text);
    exit(1);
}

static void check(int result, const struct err *err)
{
    if (result < 0)
        die(err->text);
}

static void check_error(const struct nats_error *error)
{
    if (error)
        die(error->text);
}

static void on_event(struct nats_listener *listener, const struct nats_event *event)
{
    struct bench *bench = container_of(listener, struct bench, listener);

    if (event->kind == NATS_EVENT_CONNECTED && !bench->is_connected) {
        bench->is_connected = true;
        loop_stop(bench->loop);
    }
    if (event->kind == NATS_EVENT_CLOSED && !bench->is_done)
        check_error(event->error);
}

static void open_bench(struct bench *bench, const char *url, const char *auth)
{
    AUTO_BUF struct buf creds = BUF_INIT(BUF_NO_LIMIT);

    buf_printf(&creds, "%s/admin.creds", auth);
    bench->loop = loop_new(&bench->err);
    bench->hub = nats_hub_new(bench->loop);
    bench->link = link_new(bench->hub,
                           &(struct link_options){ .urls = url,
                                                   .auth_dir = auth,
                                                   .creds_file = buf_text(&creds),
                                                   .name = "bench",
                                                   .attempts_max = 3 },
                           &bench->err);
    if (!bench->link)
        die(bench->err.text);
    bench->js.conn = link_conn(bench->link);
    nats_listen(bench->js.conn, &bench->listener, on_event);
    loop_run(bench->loop);
}

/* --- events ------------------------------------------------------------------------------ */

static void on_stored(void *self, const struct nats_error *error, const struct nats_stored_ack *ack)
{
    struct bench *bench = self;

    check_error(error);
    bench->stored++;
    if (ack->seq > bench->last_seq)
        bench->last_seq = ack->seq;
    if (bench->stored == bench->count && (!bench->puller || bench->got == bench->count))
        loop_stop(bench->loop);
}

static int send_event(struct bench *bench)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const int64_t now = clock_wall();
    struct value_map *data = value_map_new(&arena, 2);
    char id[KSUID_SIZE];
    const struct event event = {
        .id = id,
        .tag = bench->tag,
        .data = value_map(data),
        .ts = { now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) },
        .v = 1,
        .origin = "",
    };

    ksuid_new(now / CLOCK_SECOND, id);
    value_map_set(&arena, data, value_text("t"), value_int(now));
    value_map_set(&arena, data, value_text("text"), value_text("an event of usual size"));
    check(record_encode(&bytes, &event_type, &event, &bench->err), &bench->err);
    return nats_publisher_send(
        bench->publisher,
        &(struct nats_store){ .subject = str_from(bench->subject), .payload = buf_view(&bytes) },
        on_stored, bench, &bench->err);
}

static void pour(void *self)
{
    struct bench *bench = self;

    while (!bench->is_paced && bench->sent < bench->count && send_event(bench) == 0)
        bench->sent++;
}

static void send_paced(struct timer *timer)
{
    struct bench *bench = container_of(timer, struct bench, timer);

    for (; bench->sent < bench->count && clock_now() >= bench->due; bench->due += PACE_NS) {
        check(send_event(bench), &bench->err);
        bench->sent++;
    }
    if (bench->sent < bench->count)
        timer_set(loop_timers(bench->loop), &bench->timer, bench->due, send_paced);
}

static void start_publishing(struct bench *bench)
{
    bench->publisher = nats_publisher_new(
        &bench->js, &(struct nats_publisher_options){
                        .window = WINDOW, .queue_max = 2 * WINDOW, .ready = pour, .self = bench });
    bench->due = clock_now();
    if (bench->is_paced)
        send_paced(&bench->timer);
    else
        pour(bench);
}

/* --- the floor ---------------------------------------------------------------------------- */

static void on_stream(void *self, const struct nats_error *error,
                      const struct nats_stream_info *info)
{
    (void)info;
    check_error(error);
    loop_stop(((struct bench *)self)->loop);
}

static void on_consumer(void *self, const struct nats_error *error,
                        const struct nats_consumer_info *info)
{
    (void)info;
    check_error(error);
    loop_stop(((struct bench *)self)->loop);
}

static void on_deleted(void *self, const struct nats_error *error)
{
    (void)error;
    loop_stop(((struct bench *)self)->loop);
}

static void show_latency(struct str payload)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct event event;
    struct err err;

    check(record_decode(&arena, &event_type, 0, payload, &event, &err), &err);
    printf("%lld\n", (long long)(clock_wall() - value_get(&event.data, "t")->i));
}

static void on_message(void *self, const struct nats_msg *msg)
{
    struct bench *bench = self;

    if (bench->is_paced)
        show_latency(msg->payload);
    check(nats_ack(bench->js.conn, msg->reply, &bench->err), &bench->err);
    bench->got++;
    nats_puller_done(bench->puller, 1);
    if (bench->got == bench->count && bench->stored == bench->count)
        loop_stop(bench->loop);
}

static void run_floor(struct bench *bench)
{
    static const char *const subjects[] = { SUBJECT };
    const struct nats_stream_config stream = { .name = STREAM,
                                               .subjects = { subjects, 1 },
                                               .duplicate_window = 120 * CLOCK_SECOND };
    const struct nats_consumer_config consumer = { .name = STORE_REACTOR,
                                                   .durable = true,
                                                   .ack_wait = 60 * CLOCK_SECOND,
                                                   .max_deliver = 5,
                                                   .max_ack_pending = 64 };
    const struct nats_puller_options pull = { .stream = STREAM,
                                              .consumer = STORE_REACTOR,
                                              .batch = HELD,
                                              .message = on_message,
                                              .self = bench };

    bench->subject = SUBJECT;
    check(nats_stream_delete(&bench->js, STREAM, on_deleted, bench, &bench->err), &bench->err);
    loop_run(bench->loop);
    check(nats_stream_create(&bench->js, &stream, on_stream, bench, &bench->err), &bench->err);
    loop_run(bench->loop);
    check(nats_consumer_ensure(&bench->js, STREAM, &consumer, on_consumer, bench, &bench->err),
          &bench->err);
    loop_run(bench->loop);
    bench->puller = nats_puller_new(&bench->js, &pull, &bench->err);
    start_publishing(bench);
    loop_run(bench->loop);
}

/* --- the reactor ---------------------------------------------------------------------------- */

static void ask_floor(struct timer *timer);

static void on_info(void *self, const struct nats_error *error,
                    const struct nats_consumer_info *info)
{
    struct bench *bench = self;

    check_error(error);
    if (info->ack_floor_stream_seq >= bench->last_seq)
        loop_stop(bench->loop);
    else
        timer_set(loop_timers(bench->loop), &bench->timer, clock_after(clock_now(), POLL_NS),
                  ask_floor);
}

static void ask_floor(struct timer *timer)
{
    struct bench *bench = container_of(timer, struct bench, timer);

    check(nats_consumer_info(&bench->js, STORE_EVENTS, STORE_REACTOR, on_info, bench, &bench->err),
          &bench->err);
}

static void run_reactor(struct bench *bench)
{
    AUTO_BUF struct buf subject = BUF_INIT(BUF_NO_LIMIT);

    check(event_print_subject(&subject, SUBJECT_EVENT_ADMIN, NULL, bench->tag, &bench->err),
          &bench->err);
    bench->subject = buf_text(&subject);
    start_publishing(bench);
    loop_run(bench->loop);
    ask_floor(&bench->timer);
    loop_run(bench->loop);
}

int main(int argc, char **argv)
{
    struct bench bench = { .tag = argc > 5 ? argv[5] : "bench" };
    const struct str mode = str_from(argc > 4 ? argv[1] : "");

    if (argc < 5 || number_parse_uint(str_from(argv[4]), &bench.count, &bench.err) < 0)
        die("usage: driver_reactor MODE URL AUTH COUNT [TAG]");
    bench.is_paced = str_ends(mode, STR("-pace"));
    open_bench(&bench, argv[2], argv[3]);
    if (str_starts(mode, STR("floor")))
        run_floor(&bench);
    else
        run_reactor(&bench);
    bench.is_done = true;
    nats_puller_free(bench.puller);
    nats_publisher_free(bench.publisher);
    link_free(bench.link);
    nats_hub_free(bench.hub);
    loop_free(bench.loop);
    return 0;
}
