/* driver_nats MODE URL COUNT: work on a NATS server, by our client, without TLS.
 *
 *     setup URL COUNT        make stream, consumer and bucket anew, and store COUNT messages
 *     publish pull both request pipeline put get update
 *     idle                   COUNT connections with a subscription each
 *     again                  the same, prints "ready", waits until all were lost and are back
 *
 * driver_raw.c and driver_libnats.c do the same work.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/nats/ack.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/consumer.h"
#include "fleet/nats/error.h"
#include "fleet/nats/hub.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/publisher.h"
#include "fleet/nats/puller.h"
#include "fleet/nats/request.h"
#include "fleet/nats/stream.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"

#include "nats_work.h"
#include "session.h"

static char payload[PAYLOAD];
static const char *bench_url;

struct ours {
    struct session session;
    struct nats_kv kv;
    struct nats_publisher *publisher;
    struct nats_puller *puller;
    uint64_t count, sent, acked, got, back;
    uint64_t revision;
    struct err err;
};

static void ours_open(struct ours *ours, const char *url, uint64_t count)
{
    *ours = (struct ours){ .count = count };
    session_open_plain(&ours->session, url);
    ours->kv = (struct nats_kv){ .js = ours->session.js, .bucket = "bench" };
}

static void finish_when(struct ours *ours, bool done)
{
    if (done)
        session_stop(&ours->session);
}

static void on_ack(void *self, const struct nats_error *error, const struct nats_stored_ack *ack)
{
    struct ours *ours = self;

    (void)ack;
    session_check_error(error);
    ours->acked++;
    finish_when(ours, ours->acked == ours->count && (!ours->puller || ours->got == ours->count));
}

static void pour(void *self)
{
    struct ours *ours = self;

    while (ours->sent < ours->count &&
           nats_publisher_send(
               ours->publisher,
               &(struct nats_store){ .subject = STR("bench.a"), .payload = { payload, PAYLOAD } },
               on_ack, ours, &ours->err) == 0)
        ours->sent++;
}

static void start_publisher(struct ours *ours)
{
    ours->publisher = nats_publisher_new(
        &ours->session.js,
        &(struct nats_publisher_options){
            .window = WINDOW, .queue_max = 2 * WINDOW, .ready = pour, .self = ours });
    pour(ours);
}

static void ours_publish(struct ours *ours)
{
    start_publisher(ours);
    session_run(&ours->session);
}

static void on_pulled(void *self, const struct nats_msg *msg)
{
    struct ours *ours = self;

    session_check(nats_ack(ours->session.js.conn, msg->reply, &ours->err), &ours->err);
    ours->got++;
    nats_puller_done(ours->puller, 1);
    finish_when(ours, ours->got == ours->count && (!ours->publisher || ours->acked == ours->count));
}

static void start_puller(struct ours *ours)
{
    ours->puller = nats_puller_new(&ours->session.js,
                                   &(struct nats_puller_options){ .stream = "BENCH",
                                                                  .consumer = "c",
                                                                  .batch = BATCH,
                                                                  .message = on_pulled,
                                                                  .self = ours },
                                   &ours->err);
}

static void ours_flush(struct ours *ours)
{
    session_check(nats_flush(ours->session.js.conn, session_on_done, &ours->session, &ours->err),
                  &ours->err);
    session_run(&ours->session);
}

static void ours_pull(struct ours *ours)
{
    start_puller(ours);
    session_run(&ours->session);
    ours_flush(ours);
}

static void ours_both(struct ours *ours)
{
    start_puller(ours);
    start_publisher(ours);
    session_run(&ours->session);
    ours_flush(ours);
}

static void ours_ask(struct ours *ours);

static void on_reply(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct ours *ours = self;

    (void)msg;
    session_check_error(error);
    ours->got++;
    if (ours->sent < ours->count)
        ours_ask(ours);
    finish_when(ours, ours->got == ours->count);
}

static void ours_ask(struct ours *ours)
{
    ours->sent++;
    session_check(nats_request(ours->session.js.conn,
                               &(struct nats_pub){ .subject = STR("bench.echo"),
                                                   .payload = { payload, PAYLOAD } },
                               10 * CLOCK_SECOND, on_reply, ours, NULL, &ours->err),
                  &ours->err);
}

static void ours_request(struct ours *ours)
{
    ours_ask(ours);
    session_run(&ours->session);
}

static void ours_pipeline(struct ours *ours)
{
    for (int i = 0; i < PIPELINE && ours->sent < ours->count; i++)
        ours_ask(ours);
    session_run(&ours->session);
}

static const char *key_of(uint64_t number)
{
    static char key[24];

    (void)snprintf(key, sizeof(key), "k%llu", (unsigned long long)(number % KEYS));
    return key;
}

static void ours_put_next(struct ours *ours);

static void on_put(void *self, const struct nats_error *error, uint64_t revision)
{
    struct ours *ours = self;

    (void)revision;
    session_check_error(error);
    if (++ours->got < ours->count)
        ours_put_next(ours);
    else
        session_stop(&ours->session);
}

static void ours_put_next(struct ours *ours)
{
    session_check(nats_kv_put(&ours->kv, key_of(ours->got), (struct str){ payload, PAYLOAD },
                              on_put, ours, &ours->err),
                  &ours->err);
}

static void ours_put(struct ours *ours)
{
    ours_put_next(ours);
    session_run(&ours->session);
}

static void ours_get_next(struct ours *ours);

static void on_got(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct ours *ours = self;

    (void)entry;
    session_check_error(error);
    if (++ours->got < ours->count)
        ours_get_next(ours);
    else
        session_stop(&ours->session);
}

static void ours_get_next(struct ours *ours)
{
    session_check(nats_kv_get(&ours->kv, "k1", on_got, ours, &ours->err), &ours->err);
}

static void ours_get(struct ours *ours)
{
    ours_get_next(ours);
    session_run(&ours->session);
}

static void on_updated(void *self, const struct nats_error *error, uint64_t revision)
{
    struct ours *ours = self;

    session_check_error(error);
    ours->revision = revision;
    if (++ours->got > ours->count) {
        session_stop(&ours->session);
        return;
    }
    session_check(nats_kv_update(&ours->kv, "cas", (struct str){ payload, PAYLOAD }, revision,
                                 on_updated, ours, &ours->err),
                  &ours->err);
}

static void ours_update(struct ours *ours)
{
    session_check(nats_kv_put(&ours->kv, "cas", STR("0"), on_updated, ours, &ours->err),
                  &ours->err);
    session_run(&ours->session);
}

static void on_nothing(void *self, const struct nats_msg *msg)
{
    (void)self;
    (void)msg;
}

struct idler {
    struct ours *ours;
    struct nats_listener listener;
};

static void on_idler(struct nats_listener *listener, const struct nats_event *event)
{
    struct ours *ours = container_of(listener, struct idler, listener)->ours;

    if (event->kind != NATS_EVENT_CONNECTED)
        return;
    ours->back++;
    if (ours->back == ours->count || ours->back == 2 * ours->count)
        session_stop(&ours->session);
}

static void ours_idle(struct ours *ours)
{
    struct idler *idlers = mem_zalloc(ours->count * sizeof(*idlers));

    for (uint64_t i = 0; i < ours->count; i++) {
        struct nats_conn *conn = nats_conn_new(
            ours->session.hub,
            &(struct nats_options){ .servers = &bench_url, .server_count = 1, .plain = true },
            &ours->err);

        idlers[i].ours = ours;
        nats_listen(conn, &idlers[i].listener, on_idler);
        if (!nats_sub_new(conn,
                          &(struct nats_sub_options){ .subject = "idle", .message = on_nothing },
                          &ours->err))
            session_die(ours->err.text);
    }
    session_run(&ours->session);
}

static void ours_again(struct ours *ours)
{
    ours_idle(ours);
    (void)printf("ready\n");
    (void)fflush(stdout);
    session_run(&ours->session);
}

/* --- setup -------------------------------------------------------------------------- */

static void setup(struct ours *ours)
{
    static const char *const subjects[] = { "bench.a" };
    struct err *err = &ours->err;

    session_check(
        nats_stream_delete(&ours->session.js, "BENCH", session_on_maybe, &ours->session, err), err);
    session_run(&ours->session);
    session_check(nats_stream_create(
                      &ours->session.js,
                      &(struct nats_stream_config){ .name = "BENCH", .subjects = { subjects, 1 } },
                      session_on_stream, &ours->session, err),
                  err);
    session_run(&ours->session);
    session_check(
        nats_consumer_ensure(&ours->session.js, "BENCH",
                             &(struct nats_consumer_config){
                                 .name = "c", .durable = true, .max_ack_pending = 4 * BATCH },
                             session_on_consumer, &ours->session, err),
        err);
    session_run(&ours->session);
    session_check(nats_kv_ensure(&ours->session.js, &(struct nats_kv_config){ .bucket = "bench" },
                                 session_on_done, &ours->session, err),
                  err);
    session_run(&ours->session);
    if (ours->count > 0)
        ours_publish(ours);
    ours->got = 0;
    ours->count = 2;
    ours_put(ours); /* k0 and k1 are there to be read */
}

static const struct {
    const char *name;
    void (*run)(struct ours *ours);
} modes[] = {
    { "setup", setup },    { "publish", ours_publish }, { "pull", ours_pull },
    { "both", ours_both }, { "request", ours_request }, { "pipeline", ours_pipeline },
    { "put", ours_put },   { "get", ours_get },         { "update", ours_update },
    { "idle", ours_idle }, { "again", ours_again },
};

int main(int argc, char **argv)
{
    struct ours ours;

    if (argc != 4)
        session_die("usage: driver_nats MODE URL COUNT");
    bench_url = argv[2];
    memset(payload, 'x', sizeof(payload));
    fd_limit_raise();
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        if (strcmp(argv[1], modes[i].name) != 0)
            continue;
        ours_open(&ours, argv[2], session_number(argv[3]));
        modes[i].run(&ours);
        return 0; /* the kernel ends connections faster than we do */
    }
    session_die("no such mode");
}
