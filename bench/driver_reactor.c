/* driver_reactor MODE URL AUTH COUNT [TAG [PEEL CREDS]]: events for a master, and the least that
 * could be done with them, over a connection with the credentials admin.creds of the folder AUTH.
 *
 *     floor      publish COUNT events to a stream of its own, pull and acknowledge them with the
 *                parameters of the reactor's consumer, in one loop
 *     reactor    publish COUNT events with TAG, wait until masters have acknowledged all; as the
 *                peel PEEL with the file CREDS below AUTH, if they are given
 *     floor-pace, reactor-pace   the same at PACE events a second. The floor prints the latency of
 *                each in nanoseconds; the moment of sending is `t` in the data of the event
 */
#include <stdio.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "core/base/mem.h"
#include "fleet/bus/store.h"
#include "fleet/nats/ack.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/consumer.h"
#include "fleet/nats/error.h"
#include "fleet/nats/publisher.h"
#include "fleet/nats/puller.h"
#include "fleet/nats/stream.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/event.h"

#include "session.h"

#define WINDOW  1024
#define HELD    32 /* of a master with its default of workers */
#define PACE_NS (CLOCK_SECOND / 1000)
#define POLL_NS (2 * CLOCK_MS)
#define STREAM  "bench"
#define SUBJECT "zester.update.bench"

struct bench {
    struct session session;
    struct nats_publisher *publisher;
    struct nats_puller *puller;
    struct timer timer;
    const char *subject, *tag;
    const char *peel; /* who sends; NULL: the administrator */
    uint64_t count, sent, stored, got, last_seq;
    int64_t due;
    bool is_paced;
    struct err err;
};

/* --- events ------------------------------------------------------------------------------ */

static void on_stored(void *self, const struct nats_error *error, const struct nats_stored_ack *ack)
{
    struct bench *bench = self;

    session_check_error(error);
    bench->stored++;
    if (ack->seq > bench->last_seq)
        bench->last_seq = ack->seq;
    if (bench->stored == bench->count && (!bench->puller || bench->got == bench->count))
        session_stop(&bench->session);
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
    session_check(record_encode(&bytes, &event_type, &event, &bench->err), &bench->err);
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
        session_check(send_event(bench), &bench->err);
        bench->sent++;
    }
    if (bench->sent < bench->count)
        timer_set(loop_timers(bench->session.loop), &bench->timer, bench->due, send_paced);
}

static void start_publishing(struct bench *bench)
{
    bench->publisher = nats_publisher_new(
        &bench->session.js,
        &(struct nats_publisher_options){
            .window = WINDOW, .queue_max = 2 * WINDOW, .ready = pour, .self = bench });
    bench->due = clock_now();
    if (bench->is_paced)
        send_paced(&bench->timer);
    else
        pour(bench);
}

/* --- the floor ---------------------------------------------------------------------------- */

static void show_latency(struct str payload)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct event event;
    struct err err;

    session_check(record_decode(&arena, &event_type, 0, payload, &event, &err), &err);
    printf("%lld\n", (long long)(clock_wall() - value_get(&event.data, "t")->i));
}

static void on_message(void *self, const struct nats_msg *msg)
{
    struct bench *bench = self;

    if (bench->is_paced)
        show_latency(msg->payload);
    session_check(nats_ack(bench->session.js.conn, msg->reply, &bench->err), &bench->err);
    bench->got++;
    nats_puller_done(bench->puller, 1);
    if (bench->got == bench->count && bench->stored == bench->count)
        session_stop(&bench->session);
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
    session_check(nats_stream_delete(&bench->session.js, STREAM, session_on_maybe, &bench->session,
                                     &bench->err),
                  &bench->err);
    session_run(&bench->session);
    session_check(nats_stream_create(&bench->session.js, &stream, session_on_stream,
                                     &bench->session, &bench->err),
                  &bench->err);
    session_run(&bench->session);
    session_check(nats_consumer_ensure(&bench->session.js, STREAM, &consumer, session_on_consumer,
                                       &bench->session, &bench->err),
                  &bench->err);
    session_run(&bench->session);
    bench->puller = nats_puller_new(&bench->session.js, &pull, &bench->err);
    start_publishing(bench);
    session_run(&bench->session);
}

/* --- the reactor ---------------------------------------------------------------------------- */

static void ask_floor(struct timer *timer);

static void on_info(void *self, const struct nats_error *error,
                    const struct nats_consumer_info *info)
{
    struct bench *bench = self;

    session_check_error(error);
    if (info->ack_floor_stream_seq >= bench->last_seq)
        session_stop(&bench->session);
    else
        timer_set(loop_timers(bench->session.loop), &bench->timer,
                  clock_after(clock_now(), POLL_NS), ask_floor);
}

static void ask_floor(struct timer *timer)
{
    struct bench *bench = container_of(timer, struct bench, timer);

    session_check(nats_consumer_info(&bench->session.js, STORE_EVENTS, STORE_REACTOR, on_info,
                                     bench, &bench->err),
                  &bench->err);
}

static void stop_publishing(struct bench *bench)
{
    bench->session.is_closing = true;
    nats_puller_free(bench->puller);
    nats_publisher_free(bench->publisher);
    session_close(&bench->session);
}

static void run_reactor(struct bench *bench, char **words)
{
    AUTO_BUF struct buf subject = BUF_INIT(BUF_NO_LIMIT);

    session_check(event_print_subject(&subject,
                                      bench->peel ? SUBJECT_EVENT_SEND : SUBJECT_EVENT_ADMIN,
                                      bench->peel, bench->tag, &bench->err),
                  &bench->err);
    bench->subject = buf_text(&subject);
    start_publishing(bench);
    session_run(&bench->session);
    if (bench->peel) { /* which may not ask how far masters are */
        stop_publishing(bench);
        bench->publisher = NULL;
        session_open(&bench->session, words[2], words[3], "admin.creds");
    }
    ask_floor(&bench->timer);
    session_run(&bench->session);
}

int main(int argc, char **argv)
{
    struct bench bench = { .tag = argc > 5 ? argv[5] : "bench", .peel = argc > 7 ? argv[6] : NULL };
    const struct str mode = str_from(argc > 4 ? argv[1] : "");

    if (argc < 5)
        session_die("usage: driver_reactor MODE URL AUTH COUNT [TAG [PEEL CREDS]]");
    bench.count = session_number(argv[4]);
    bench.is_paced = str_ends(mode, STR("-pace"));
    session_open(&bench.session, argv[2], argv[3], bench.peel ? argv[7] : "admin.creds");
    if (str_starts(mode, STR("floor")))
        run_floor(&bench);
    else
        run_reactor(&bench, argv);
    stop_publishing(&bench);
    return 0;
}
