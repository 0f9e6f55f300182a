/* driver_nats MODE URL COUNT: work on a NATS server, by our client or by the least that speaks the
 * protocol: one thread, blocking calls, no TLS, no reconnect.
 *
 *     setup URL COUNT        make stream, consumer and bucket anew, and store COUNT messages
 *     respond URL 0          answer requests until killed, with the least
 *     ours-OP, raw-OP        OP: publish pull both request pipeline put get update idle again
 *
 * idle: COUNT connections with a subscription each. again: the same, prints "ready", waits until
 * all were lost and are back.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/number.h"
#include "nats/ack.h"
#include "nats/conn.h"
#include "nats/consumer.h"
#include "nats/error.h"
#include "nats/hub.h"
#include "nats/kv.h"
#include "nats/parser.h"
#include "nats/publisher.h"
#include "nats/puller.h"
#include "nats/request.h"
#include "nats/stream.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/loop.h"

#define PAYLOAD  300
#define WINDOW   1024
#define BATCH    1000
#define PIPELINE 256
#define KEYS     100

static char payload[PAYLOAD];
static const char *bench_url;

static void die(const char *text)
{
    (void)fprintf(stderr, "driver_nats: %s\n", text);
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

/* --- ours --------------------------------------------------------------------------- */

struct ours {
    struct loop *loop;
    struct nats_hub *hub;
    struct nats_js js;
    struct nats_kv kv;
    struct nats_listener listener;
    struct nats_publisher *publisher;
    struct nats_puller *puller;
    uint64_t count, sent, acked, got, back;
    uint64_t revision;
    bool connected;
    struct err err;
};

static void on_event(struct nats_listener *listener, const struct nats_event *event)
{
    struct ours *ours = container_of(listener, struct ours, listener);

    if (event->kind == NATS_EVENT_CONNECTED && !ours->connected) {
        ours->connected = true;
        loop_stop(ours->loop);
    }
    if (event->kind == NATS_EVENT_CLOSED || event->kind == NATS_EVENT_ERROR)
        check_error(event->error);
}

static void ours_open(struct ours *ours, const char *url, uint64_t count)
{
    const struct nats_options options = {
        .servers = &url, .server_count = 1, .plain = true, .attempts_max = 3
    };

    *ours = (struct ours){ .count = count };
    ours->loop = loop_new(&ours->err);
    ours->hub = nats_hub_new(ours->loop);
    ours->js.conn = nats_conn_new(ours->hub, &options, &ours->err);
    if (!ours->js.conn)
        die(ours->err.text);
    ours->kv = (struct nats_kv){ .js = ours->js, .bucket = "bench" };
    nats_listen(ours->js.conn, &ours->listener, on_event);
    loop_run(ours->loop);
}

static void on_done(void *self, const struct nats_error *error)
{
    check_error(error);
    loop_stop(((struct ours *)self)->loop);
}

static void on_maybe(void *self, const struct nats_error *error)
{
    (void)error;
    loop_stop(((struct ours *)self)->loop);
}

static void on_stream(void *self, const struct nats_error *error,
                      const struct nats_stream_info *info)
{
    (void)info;
    on_done(self, error);
}

static void on_consumer(void *self, const struct nats_error *error,
                        const struct nats_consumer_info *info)
{
    (void)info;
    on_done(self, error);
}

static void finish_when(struct ours *ours, bool done)
{
    if (done)
        loop_stop(ours->loop);
}

static void on_ack(void *self, const struct nats_error *error, const struct nats_stored_ack *ack)
{
    struct ours *ours = self;

    (void)ack;
    check_error(error);
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
        &ours->js, &(struct nats_publisher_options){
                       .window = WINDOW, .queue_max = 2 * WINDOW, .ready = pour, .self = ours });
    pour(ours);
}

static void ours_publish(struct ours *ours)
{
    start_publisher(ours);
    loop_run(ours->loop);
}

static void on_pulled(void *self, const struct nats_msg *msg)
{
    struct ours *ours = self;

    check(nats_ack(ours->js.conn, msg->reply, &ours->err), &ours->err);
    ours->got++;
    nats_puller_done(ours->puller, 1);
    finish_when(ours, ours->got == ours->count && (!ours->publisher || ours->acked == ours->count));
}

static void start_puller(struct ours *ours)
{
    ours->puller = nats_puller_new(&ours->js,
                                   &(struct nats_puller_options){ .stream = "BENCH",
                                                                  .consumer = "c",
                                                                  .batch = BATCH,
                                                                  .message = on_pulled,
                                                                  .self = ours },
                                   &ours->err);
}

static void ours_flush(struct ours *ours)
{
    check(nats_flush(ours->js.conn, on_done, ours, &ours->err), &ours->err);
    loop_run(ours->loop);
}

static void ours_pull(struct ours *ours)
{
    start_puller(ours);
    loop_run(ours->loop);
    ours_flush(ours);
}

static void ours_both(struct ours *ours)
{
    start_puller(ours);
    start_publisher(ours);
    loop_run(ours->loop);
    ours_flush(ours);
}

static void ours_ask(struct ours *ours);

static void on_reply(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct ours *ours = self;

    (void)msg;
    check_error(error);
    ours->got++;
    if (ours->sent < ours->count)
        ours_ask(ours);
    finish_when(ours, ours->got == ours->count);
}

static void ours_ask(struct ours *ours)
{
    ours->sent++;
    check(nats_request(
              ours->js.conn,
              &(struct nats_pub){ .subject = STR("bench.echo"), .payload = { payload, PAYLOAD } },
              10 * CLOCK_SECOND, on_reply, ours, NULL, &ours->err),
          &ours->err);
}

static void ours_request(struct ours *ours)
{
    ours_ask(ours);
    loop_run(ours->loop);
}

static void ours_pipeline(struct ours *ours)
{
    for (int i = 0; i < PIPELINE && ours->sent < ours->count; i++)
        ours_ask(ours);
    loop_run(ours->loop);
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
    check_error(error);
    if (++ours->got < ours->count)
        ours_put_next(ours);
    else
        loop_stop(ours->loop);
}

static void ours_put_next(struct ours *ours)
{
    check(nats_kv_put(&ours->kv, key_of(ours->got), (struct str){ payload, PAYLOAD }, on_put, ours,
                      &ours->err),
          &ours->err);
}

static void ours_put(struct ours *ours)
{
    ours_put_next(ours);
    loop_run(ours->loop);
}

static void ours_get_next(struct ours *ours);

static void on_got(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct ours *ours = self;

    (void)entry;
    check_error(error);
    if (++ours->got < ours->count)
        ours_get_next(ours);
    else
        loop_stop(ours->loop);
}

static void ours_get_next(struct ours *ours)
{
    check(nats_kv_get(&ours->kv, "k1", on_got, ours, &ours->err), &ours->err);
}

static void ours_get(struct ours *ours)
{
    ours_get_next(ours);
    loop_run(ours->loop);
}

static void on_updated(void *self, const struct nats_error *error, uint64_t revision)
{
    struct ours *ours = self;

    check_error(error);
    ours->revision = revision;
    if (++ours->got > ours->count) {
        loop_stop(ours->loop);
        return;
    }
    check(nats_kv_update(&ours->kv, "cas", (struct str){ payload, PAYLOAD }, revision, on_updated,
                         ours, &ours->err),
          &ours->err);
}

static void ours_update(struct ours *ours)
{
    check(nats_kv_put(&ours->kv, "cas", STR("0"), on_updated, ours, &ours->err), &ours->err);
    loop_run(ours->loop);
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
        loop_stop(ours->loop);
}

static void ours_idle(struct ours *ours)
{
    struct idler *idlers = mem_zalloc(ours->count * sizeof(*idlers));

    for (uint64_t i = 0; i < ours->count; i++) {
        struct nats_conn *conn = nats_conn_new(
            ours->hub,
            &(struct nats_options){ .servers = &bench_url, .server_count = 1, .plain = true },
            &ours->err);

        idlers[i].ours = ours;
        nats_listen(conn, &idlers[i].listener, on_idler);
        if (!nats_sub_new(conn,
                          &(struct nats_sub_options){ .subject = "idle", .message = on_nothing },
                          &ours->err))
            die(ours->err.text);
    }
    loop_run(ours->loop);
}

static void ours_again(struct ours *ours)
{
    ours_idle(ours);
    (void)printf("ready\n");
    (void)fflush(stdout);
    loop_run(ours->loop);
}

/* --- setup -------------------------------------------------------------------------- */

static void setup(struct ours *ours)
{
    static const char *const subjects[] = { "bench.a" };
    struct err *err = &ours->err;

    check(nats_stream_delete(&ours->js, "BENCH", on_maybe, ours, err), err);
    loop_run(ours->loop);
    check(nats_stream_create(
              &ours->js,
              &(struct nats_stream_config){ .name = "BENCH", .subjects = { subjects, 1 } },
              on_stream, ours, err),
          err);
    loop_run(ours->loop);
    check(nats_consumer_ensure(&ours->js, "BENCH",
                               &(struct nats_consumer_config){
                                   .name = "c", .durable = true, .max_ack_pending = 4 * BATCH },
                               on_consumer, ours, err),
          err);
    loop_run(ours->loop);
    check(nats_kv_ensure(&ours->js, &(struct nats_kv_config){ .bucket = "bench" }, on_done, ours,
                         err),
          err);
    loop_run(ours->loop);
    if (ours->count > 0)
        ours_publish(ours);
    ours->got = 0;
    ours->count = 2;
    ours_put(ours); /* k0 and k1 are there to be read */
}

/* --- raw ---------------------------------------------------------------------------- */

static char raw_inbox[24];

struct raw {
    int fd;
    struct buf out, in;
    struct nats_parser parser;
    uint64_t count;
};

static void raw_open(struct raw *raw, const char *url, uint64_t count)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const char *port = strrchr(url, ':');
    const int on = 1;
    uint64_t number;
    struct err err;

    *raw =
        (struct raw){ .out = BUF_INIT(BUF_NO_LIMIT), .in = BUF_INIT(BUF_NO_LIMIT), .count = count };
    check(number_parse_uint(str_from(port ? port + 1 : ""), &number, &err), &err);
    address.sin_port = htons((uint16_t)number);
    raw->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(raw->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(raw->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        die("connect");
    nats_parser_init(&raw->parser, NATS_PAYLOAD_MAX);
    (void)snprintf(raw_inbox, sizeof(raw_inbox), "_R%d.1", (int)getpid());
    buf_printf(
        &raw->out,
        "CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\nSUB %s 1\r\n",
        raw_inbox);
}

static void raw_send(struct raw *raw)
{
    struct err err;

    check(fd_write(raw->fd, raw->out.p, raw->out.n, &err), &err);
    buf_clear(&raw->out);
}

/* One read; `fn` for each message. */
static void raw_read(struct raw *raw, void (*fn)(struct raw *raw, const struct nats_frame *frame))
{
    char *room = buf_reserve(&raw->in, 256 << 10);
    ssize_t n = recv(raw->fd, room, 256 << 10, 0);
    struct nats_frame frame;
    size_t begin = 0, used;
    struct err err;

    if (n <= 0)
        die("the server closed the connection");
    raw->in.n += (size_t)n;
    for (;;) {
        check(nats_parser_next(&raw->parser, str_from_offset(buf_view(&raw->in), begin), &frame,
                               &used, &err),
              &err);
        if (!frame.kind)
            break;
        begin += used;
        if (frame.kind == NATS_FRAME_PING)
            buf_add_text(&raw->out, "PONG\r\n");
        if (frame.kind == NATS_FRAME_ERR)
            die("the server complains");
        if (frame.kind == NATS_FRAME_MSG)
            fn(raw, &frame);
    }
    buf_consume(&raw->in, begin);
}

static uint64_t raw_got, raw_sent, raw_acked, raw_asked, raw_revision;

static void raw_pub(struct raw *raw, const char *subject, const char *reply)
{
    buf_add_text(&raw->out, "PUB ");
    buf_add_text(&raw->out, subject);
    buf_add_char(&raw->out, ' ');
    buf_add_text(&raw->out, reply);
    buf_add_text(&raw->out, " 300\r\n");
    buf_add(&raw->out, payload, PAYLOAD);
    buf_add_text(&raw->out, "\r\n");
}

static void raw_take(struct raw *raw, const struct nats_frame *frame)
{
    if (frame->sid == 1) {
        raw_acked++;
        return;
    }
    if (frame->reply.n == 0)
        return;
    raw_got++;
    raw_asked--;
    buf_add_text(&raw->out, "PUB ");
    buf_add_str(&raw->out, frame->reply);
    buf_add_text(&raw->out, " 4\r\n+ACK\r\n");
}

static void raw_fill(struct raw *raw, const char *subject, uint64_t window)
{
    while (raw_sent < raw->count && raw_sent - raw_acked < window) {
        raw_pub(raw, subject, raw_inbox);
        raw_sent++;
    }
}

static void raw_publish(struct raw *raw)
{
    while (raw_acked < raw->count) {
        raw_fill(raw, "bench.a", WINDOW);
        raw_send(raw);
        raw_read(raw, raw_take);
    }
}

static void raw_ask(struct raw *raw)
{
    static const char body[] = "{\"batch\":500,\"expires\":30000000000}";

    if (raw_asked > BATCH / 2)
        return;
    raw_asked += BATCH / 2;
    buf_printf(&raw->out, "PUB $JS.API.CONSUMER.MSG.NEXT.BENCH.c _P.1 %zu\r\n%s\r\n",
               sizeof(body) - 1, body);
}

static void raw_pull(struct raw *raw)
{
    buf_add_text(&raw->out, "SUB _P.* 2\r\n");
    while (raw_got < raw->count) {
        raw_ask(raw);
        raw_send(raw);
        raw_read(raw, raw_take);
    }
    raw_send(raw);
}

static void raw_both(struct raw *raw)
{
    buf_add_text(&raw->out, "SUB _P.* 2\r\n");
    while (raw_got < raw->count || raw_acked < raw->count) {
        raw_ask(raw);
        raw_fill(raw, "bench.a", WINDOW);
        raw_send(raw);
        raw_read(raw, raw_take);
    }
    raw_send(raw);
}

static void raw_converse(struct raw *raw, const char *subject, uint64_t window)
{
    while (raw_acked < raw->count) {
        raw_fill(raw, subject, window);
        raw_send(raw);
        raw_read(raw, raw_take);
    }
}

static void raw_request(struct raw *raw)
{
    raw_converse(raw, "bench.echo", 1);
}

static void raw_pipeline(struct raw *raw)
{
    raw_converse(raw, "bench.echo", PIPELINE);
}

static void raw_put(struct raw *raw)
{
    while (raw_acked < raw->count) {
        AUTO_BUF struct buf subject = BUF_INIT(64);

        buf_printf(&subject, "$KV.bench.%s", key_of(raw_acked));
        raw_pub(raw, buf_text(&subject), raw_inbox);
        raw_send(raw);
        for (uint64_t before = raw_acked; raw_acked == before;)
            raw_read(raw, raw_take);
    }
}

static void raw_get(struct raw *raw)
{
    while (raw_acked < raw->count) {
        buf_printf(&raw->out, "PUB $JS.API.DIRECT.GET.KV_bench.$KV.bench.k1 %s 0\r\n\r\n",
                   raw_inbox);
        raw_send(raw);
        for (uint64_t before = raw_acked; raw_acked == before;)
            raw_read(raw, raw_take);
    }
}

static void raw_take_revision(struct raw *raw, const struct nats_frame *frame)
{
    size_t at = str_find(frame->payload, STR("\"seq\":"), 0);

    (void)raw;
    raw_acked++;
    raw_revision = 0;
    for (at += 6;
         at < frame->payload.n && frame->payload.p[at] >= '0' && frame->payload.p[at] <= '9'; at++)
        raw_revision = raw_revision * 10 + (uint64_t)(frame->payload.p[at] - '0');
}

static void raw_update(struct raw *raw)
{
    raw_pub(raw, "$KV.bench.cas", raw_inbox);
    raw->count++;
    while (raw_acked < raw->count) {
        AUTO_BUF struct buf header = BUF_INIT(200);

        raw_send(raw);
        for (uint64_t before = raw_acked; raw_acked == before;)
            raw_read(raw, raw_take_revision);
        buf_printf(&header, "NATS/1.0\r\nNats-Expected-Last-Subject-Sequence: %llu\r\n\r\n",
                   (unsigned long long)raw_revision);
        buf_printf(&raw->out, "HPUB $KV.bench.cas %s %zu %zu\r\n", raw_inbox, header.n,
                   header.n + PAYLOAD);
        buf_add_str(&raw->out, buf_view(&header));
        buf_add(&raw->out, payload, PAYLOAD);
        buf_add_text(&raw->out, "\r\n");
    }
}

static void raw_answer(struct raw *raw, const struct nats_frame *frame)
{
    if (frame->reply.n == 0)
        return;
    buf_printf(&raw->out, "PUB %.*s %zu\r\n", STR_ARG(frame->reply), frame->payload.n);
    buf_add_str(&raw->out, frame->payload);
    buf_add_text(&raw->out, "\r\n");
}

static void raw_respond(struct raw *raw)
{
    buf_add_text(&raw->out, "SUB bench.echo 2\r\n");
    for (;;) {
        if (raw->out.n > 0)
            raw_send(raw);
        raw_read(raw, raw_answer);
    }
}

/* --- modes -------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*ours)(struct ours *ours);
    void (*raw)(struct raw *raw);
} modes[] = {
    { "setup", setup, NULL },
    { "respond", NULL, raw_respond },
    { "ours-publish", ours_publish, NULL },
    { "raw-publish", NULL, raw_publish },
    { "ours-pull", ours_pull, NULL },
    { "raw-pull", NULL, raw_pull },
    { "ours-both", ours_both, NULL },
    { "raw-both", NULL, raw_both },
    { "ours-request", ours_request, NULL },
    { "raw-request", NULL, raw_request },
    { "ours-pipeline", ours_pipeline, NULL },
    { "raw-pipeline", NULL, raw_pipeline },
    { "ours-put", ours_put, NULL },
    { "raw-put", NULL, raw_put },
    { "ours-get", ours_get, NULL },
    { "raw-get", NULL, raw_get },
    { "ours-update", ours_update, NULL },
    { "raw-update", NULL, raw_update },
    { "ours-idle", ours_idle, NULL },
    { "ours-again", ours_again, NULL },
};

int main(int argc, char **argv)
{
    uint64_t count;
    struct err err;

    if (argc != 4)
        die("usage: driver_nats MODE URL COUNT");
    check(number_parse_uint(str_from(argv[3]), &count, &err), &err);
    bench_url = argv[2];
    memset(payload, 'x', sizeof(payload));
    fd_limit_raise();
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        struct ours ours;
        struct raw raw;

        if (strcmp(argv[1], modes[i].name) != 0)
            continue;
        if (modes[i].ours) {
            ours_open(&ours, argv[2], count);
            modes[i].ours(&ours);
        } else {
            raw_open(&raw, argv[2], count);
            modes[i].raw(&raw);
        }
        return 0; /* the kernel ends connections faster than we do */
    }
    die("no such mode");
    return 1;
}
