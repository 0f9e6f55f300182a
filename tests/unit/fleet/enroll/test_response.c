#include "fleet/enroll/response.h"

#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "test.h"

#define BODY_MAX 100

/* What came, as "name=data " one after the other. */
struct heard {
    char text[200];
    int wanted; /* events until it is enough */
};

static bool on_event(void *self, struct str name, struct str data)
{
    struct heard *heard = self;
    size_t n = strlen(heard->text);

    (void)snprintf(heard->text + n, sizeof(heard->text) - n, "%.*s=%.*s ", STR_ARG(name),
                   STR_ARG(data));
    return --heard->wanted > 0;
}

/* Fed `step` bytes at a time, and then the end; returns 0, or -1 with the error. */
static int read_all(struct response *response, const char *text, size_t step, struct err *err)
{
    struct str rest = str_from(text);

    while (rest.n > 0 && !response->is_over) {
        size_t n = rest.n < step ? rest.n : step;

        if (response_feed(response, str_slice(rest, 0, n), err) < 0)
            return -1;
        rest = str_from_offset(rest, n);
    }
    return response->is_over ? 0 : response_end(response, err);
}

#define HEAD "HTTP/1.1 200 OK\r\n"

static const struct {
    const char *text, *body; /* or the error */
    int status, retry_after;
} answers[] = {
    { HEAD "Content-Length: 5\r\n\r\nhello, more", "hello", 200, 0 },
    { HEAD "content-length: 0\r\n\r\n", "", 200, 0 },
    { HEAD "\r\nto the end", "to the end", 200, 0 },
    { HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n2;x=y\r\n, \r\n0\r\n\r\n", "hello, ",
      200, 0 },
    { "HTTP/1.0 429 Wait\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n{}", "{}", 429, 7 },
    { HEAD "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 0\r\n\r\n", "", 200, 0 },
    { "", "'host' closed the connection", 0, 0 },
    { HEAD, "'host' closed the connection", 0, 0 },
    { "SSH-2.0-OpenSSH\r\n\r\n", "'host' does not speak HTTP", 0, 0 },
    { "HTTP/1.1 2\r\n\r\n", "'host' does not speak HTTP", 0, 0 },
    { "HTTP/2 200 OK\r\n\r\n", "'host' does not speak HTTP", 0, 0 },
    { HEAD "Content-Length: -1\r\n\r\n", "'host' does not speak HTTP", 0, 0 },
    { HEAD "Content-Length: 99999999999999999999\r\n\r\n", "'host' does not speak HTTP", 0, 0 },
    { HEAD "Transfer-Encoding: gzip\r\n\r\n", "'host' does not speak HTTP", 0, 0 },
    { HEAD "Content-Length: 5\r\n\r\nhell", "'host' closed the connection in its answer", 0, 0 },
    { HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
      "'host' closed the connection in its answer", 0, 0 },
    { HEAD "Transfer-Encoding: chunked\r\n\r\nwide\r\n", "'host' sent a chunk without a size", 0,
      0 },
};

TEST(an_answer_is_read_however_its_bytes_come_and_one_that_is_cut_is_an_error)
{
    for (size_t i = 0; i < ARRAY_LEN(answers); i++)
        for (size_t step = 1; step < 200; step += 66) {
            struct response response = RESPONSE_INIT("host", BODY_MAX);
            struct err err = { 0 };
            int result = read_all(&response, answers[i].text, step, &err);

            CHECK_STR(result < 0 ? err.text : buf_text(&response.body), answers[i].body);
            if (result == 0) {
                CHECK_INT(response.status, answers[i].status);
                CHECK_INT(response.retry_after, answers[i].retry_after);
            }
            response_done(&response);
        }
}

TEST(an_answer_that_is_too_large_is_an_error_before_it_is_kept)
{
    struct response long_head = RESPONSE_INIT("host", BODY_MAX);
    struct response long_body = RESPONSE_INIT("host", BODY_MAX);
    const struct str more = STR("0123456789abcdef");
    struct err err;
    int i = 0;

    CHECK_INT(response_feed(&long_head, STR(HEAD "X: "), &err), 0);
    while (response_feed(&long_head, more, &err) == 0)
        CHECK((size_t)++i * more.n <= RESPONSE_HEAD_MAX);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_INT(response_feed(&long_body, STR(HEAD "\r\n"), &err), 0);
    for (i = 0; response_feed(&long_body, more, &err) == 0; i++)
        CHECK((size_t)i * more.n <= BODY_MAX);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_STR(err.text, "the answer of 'host' is too large");
    response_done(&long_head);
    response_done(&long_body);
}

static const char events[] = HEAD "Transfer-Encoding: chunked\r\n\r\n"
                                  "8\r\n: beat\n\n\r\n"
                                  "16\r\nevent: state\ndata: {}\n\r\n"
                                  "1\r\n\n\r\n"
                                  "16\r\nevent: end\ndata: now\n\n\r\n"
                                  "e\r\nevent: later\n\n\r\n";

TEST(events_of_a_stream_are_reported_one_by_one_until_it_is_enough)
{
    for (size_t step = 1; step < 400; step += 133) {
        struct heard heard = { .wanted = 2 };
        struct response response = RESPONSE_INIT("host", BODY_MAX);
        struct err err = { 0 };

        response.event = on_event;
        response.self = &heard;
        CHECK_INT(read_all(&response, events, step, &err), 0);
        CHECK_STR(err.text, "");
        CHECK_STR(heard.text, "state={} end=now ");
        response_done(&response);
    }
}

TEST(a_stream_may_end_anywhere_and_a_refusal_is_not_a_stream)
{
    struct heard heard = { .wanted = 9 };
    struct response cut = RESPONSE_INIT("host", BODY_MAX),
                    refused = RESPONSE_INIT("host", BODY_MAX);
    struct err err = { 0 };

    cut.event = refused.event = on_event;
    cut.self = refused.self = &heard;
    CHECK_INT(read_all(&cut, HEAD "Transfer-Encoding: chunked\r\n\r\n9\r\nevent", 7, &err), 0);
    CHECK_INT(
        read_all(&refused, "HTTP/1.1 404 No\r\nContent-Length: 11\r\n\r\nevent: x\n\n{", 7, &err),
        0);
    CHECK_STR(buf_text(&refused.body), "event: x\n\n{");
    CHECK_STR(heard.text, "");
    response_done(&cut);
    response_done(&refused);
}
