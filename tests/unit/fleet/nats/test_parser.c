#include "fleet/nats/parser.h"

#include "core/base/err.h"
#include "test.h"

#define PAYLOAD_MAX 100

static const char *const kinds[] = { "none", "msg", "info", "ping", "pong", "ok", "err" };

/* All frames of the input, in words. */
static int print_frames(struct str input, size_t step, struct buf *out, struct err *err)
{
    struct nats_parser parser;
    struct nats_frame frame;
    size_t have = 0, begin = 0, used;

    nats_parser_init(&parser, PAYLOAD_MAX);
    while (have < input.n) {
        have = have + step < input.n ? have + step : input.n;
        do {
            if (nats_parser_next(&parser, str_slice(input, begin, have - begin), &frame, &used,
                                 err) < 0)
                return -1;
            begin += used;
            if (frame.kind == NATS_FRAME_MSG)
                buf_printf(out, "[%llu %.*s (%.*s) <%.*s> %.*s]", (unsigned long long)frame.sid,
                           STR_ARG(frame.subject), STR_ARG(frame.reply), STR_ARG(frame.header),
                           STR_ARG(frame.payload));
            else if (frame.kind)
                buf_printf(out, "[%s %.*s]", kinds[frame.kind], STR_ARG(frame.text));
        } while (frame.kind);
    }
    return 0;
}

static const struct {
    const char *input, *output; /* output NULL: an error */
    const char *error;
} cases[] = {
    { "PING\r\n", "[ping ]", NULL },
    { "ping\nPONG\r\n+OK\r\n", "[ping ][pong ][ok ]", NULL },
    { "INFO {\"a\": 1}\r\n", "[info {\"a\": 1}]", NULL },
    { "-ERR 'Stale Connection'\r\n", "[err Stale Connection]", NULL },
    { "-ERR\r\n", "[err ]", NULL },
    { "MSG a.b 7 3\r\nxyz\r\n", "[7 a.b () <> xyz]", NULL },
    { "MSG a.b 7 re.ply 0\r\n\r\nPING\r\n", "[7 a.b (re.ply) <> ][ping ]", NULL },
    { "MSG\ta  9\t 2 \r\n\r\n\r\n", "[9 a () <> \r\n]", NULL },
    { "HMSG a 1 6 9\r\nH12345abc\r\n", "[1 a () <H12345> abc]", NULL },
    { "HMSG a 1 r 6 6\r\nH12345\r\n", "[1 a (r) <H12345> ]", NULL },
    { "MSG a 1 200\r\n", NULL, "payload of 200 bytes, limit is 100" },
    { "MSG a 1 18446744073709551617\r\n", NULL, "protocol error: payload is not a number" },
    { "MSG a 1 -1\r\n", NULL, "protocol error: payload is not a number" },
    { "MSG a x 1\r\n", NULL, "protocol error: subscription id is not a number" },
    { "MSG a 1\r\n", NULL, "protocol error: MSG with 2 fields" },
    { "MSG a 1 r 2 3\r\n", NULL, "protocol error: MSG with 5 fields" },
    { "MSG\r\n", NULL, "protocol error: MSG with 0 fields" },
    { "HMSG a 1 9 6\r\n", NULL, "header of 9 bytes, limit is 6" },
    { "HMSG a 1 2\r\n", NULL, "protocol error: HMSG with 3 fields" },
    { "MSG a 1 3\r\nabcdefgh\r\n", NULL, "protocol error: a payload is longer than announced" },
    { "HTTP/1.1 400 Bad Request\r\n", NULL, "protocol error: unknown operation 'HTTP/1.1'" },
    { "\x16\x03\x01 x\r\n", NULL, "protocol error: unknown operation '\?\?\?'" },
    { "\r\n", NULL, "protocol error: unknown operation ''" },
};

TEST(frames_are_the_same_however_the_bytes_come)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t step = 1; step < 40; step++) {
            AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
            struct err err;
            int result = print_frames(str_from(cases[i].input), step, &out, &err);

            CHECK_INT(result, cases[i].output ? 0 : -1);
            CHECK_STR(result < 0 ? err.text : buf_text(&out),
                      result < 0 ? cases[i].error : cases[i].output);
        }
}

TEST(a_line_without_end_is_refused_at_the_limit)
{
    AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT);
    struct nats_parser parser;
    struct nats_frame frame;
    struct err err;
    size_t used;

    nats_parser_init(&parser, PAYLOAD_MAX);
    buf_add_text(&line, "INFO ");
    buf_fill(&line, 'x', NATS_LINE_MAX - line.n);
    CHECK_INT(nats_parser_next(&parser, buf_view(&line), &frame, &used, &err), 0);
    CHECK_INT(frame.kind, NATS_FRAME_NONE);
    buf_add_char(&line, 'x');
    CHECK_INT(nats_parser_next(&parser, buf_view(&line), &frame, &used, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
}

TEST(a_large_payload_is_looked_at_once_when_it_is_all_there)
{
    struct nats_parser parser;
    struct nats_frame frame;
    struct err err;
    size_t used;

    nats_parser_init(&parser, PAYLOAD_MAX);
    CHECK_INT(nats_parser_next(&parser, STR("MSG a 1 50\r\nabc"), &frame, &used, &err), 0);
    CHECK_INT(parser.need, 12 + 50 + 2);
}
