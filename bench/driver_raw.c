/* driver_raw MODE URL COUNT: the work of driver_nats.c by the least that speaks the protocol: one
 * thread, blocking calls, no TLS, no reconnect. Each request has a reply subject of its own, as
 * answers must be told apart.
 *
 *     respond URL 0          answer requests until killed
 *     publish pull both request pipeline put get update
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/parser.h"
#include "core/sys/fd.h"

#include "nats_work.h"
#include "session.h"

static char payload[PAYLOAD];

static const char *key_of(uint64_t number)
{
    static char key[24];

    (void)snprintf(key, sizeof(key), "k%llu", (unsigned long long)(number % KEYS));
    return key;
}

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

    *raw =
        (struct raw){ .out = BUF_INIT(BUF_NO_LIMIT), .in = BUF_INIT(BUF_NO_LIMIT), .count = count };
    address.sin_port = htons((uint16_t)session_number(port ? port + 1 : ""));
    raw->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(raw->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(raw->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        session_die("connect");
    nats_parser_init(&raw->parser, NATS_PAYLOAD_MAX);
    (void)snprintf(raw_inbox, sizeof(raw_inbox), "_R%d", (int)getpid());
    buf_printf(
        &raw->out,
        "CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\nSUB %s.* 1\r\n",
        raw_inbox);
}

static void raw_send(struct raw *raw)
{
    struct err err;

    session_check(fd_write(raw->fd, raw->out.p, raw->out.n, &err), &err);
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
        session_die("the server closed the connection");
    raw->in.n += (size_t)n;
    for (;;) {
        session_check(nats_parser_next(&raw->parser, str_from_offset(buf_view(&raw->in), begin),
                                       &frame, &used, &err),
                      &err);
        if (!frame.kind)
            break;
        begin += used;
        if (frame.kind == NATS_FRAME_PING)
            buf_add_text(&raw->out, "PONG\r\n");
        if (frame.kind == NATS_FRAME_ERR)
            session_die("the server complains");
        if (frame.kind == NATS_FRAME_MSG)
            fn(raw, &frame);
    }
    buf_consume(&raw->in, begin);
}

static uint64_t raw_got, raw_sent, raw_acked, raw_asked, raw_revision;

static const char *next_reply(void)
{
    static unsigned long long number;
    static char reply[48];

    (void)snprintf(reply, sizeof(reply), "%s.%llu", raw_inbox, ++number);
    return reply;
}

static void raw_pub(struct raw *raw, const char *subject)
{
    buf_add_text(&raw->out, "PUB ");
    buf_add_text(&raw->out, subject);
    buf_add_char(&raw->out, ' ');
    buf_add_text(&raw->out, next_reply());
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
        raw_pub(raw, subject);
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
    static const char body[] = "{\"batch\":1000,\"expires\":30000000000}";

    if (raw_asked > 0)
        return;
    raw_asked = BATCH;
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
        raw_pub(raw, buf_text(&subject));
        raw_send(raw);
        for (uint64_t before = raw_acked; raw_acked == before;)
            raw_read(raw, raw_take);
    }
}

static void raw_get(struct raw *raw)
{
    while (raw_acked < raw->count) {
        buf_printf(&raw->out, "PUB $JS.API.DIRECT.GET.KV_bench.$KV.bench.k1 %s 0\r\n\r\n",
                   next_reply());
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
    raw_pub(raw, "$KV.bench.cas");
    raw->count++;
    while (raw_acked < raw->count) {
        AUTO_BUF struct buf header = BUF_INIT(200);

        raw_send(raw);
        for (uint64_t before = raw_acked; raw_acked == before;)
            raw_read(raw, raw_take_revision);
        buf_printf(&header, "NATS/1.0\r\nNats-Expected-Last-Subject-Sequence: %llu\r\n\r\n",
                   (unsigned long long)raw_revision);
        buf_printf(&raw->out, "HPUB $KV.bench.cas %s %zu %zu\r\n", next_reply(), header.n,
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

static const struct {
    const char *name;
    void (*run)(struct raw *raw);
} modes[] = {
    { "respond", raw_respond }, { "publish", raw_publish }, { "pull", raw_pull },
    { "both", raw_both },       { "request", raw_request }, { "pipeline", raw_pipeline },
    { "put", raw_put },         { "get", raw_get },         { "update", raw_update },
};

int main(int argc, char **argv)
{
    struct raw raw;

    if (argc != 4)
        session_die("usage: driver_raw MODE URL COUNT");
    memset(payload, 'x', sizeof(payload));
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        if (strcmp(argv[1], modes[i].name) != 0)
            continue;
        raw_open(&raw, argv[2], session_number(argv[3]));
        modes[i].run(&raw);
        return 0;
    }
    session_die("no such mode");
}
