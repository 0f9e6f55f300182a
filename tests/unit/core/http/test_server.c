#include "core/http/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/http/address.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "test.h"

/* A server, and one client in a thread of its own that says its text and reads to the end. */
struct scene {
    struct loop *loop;
    struct http_server *server;
    struct timer timer;
    struct http_request *kept;
    struct http_stream *stream;
    int beats, closed, answered;

    uint16_t port;
    struct str text;
    struct buf reply;
    bool is_done;
    pthread_t thread;
};

static void on_echo(void *self, struct http_request *request)
{
    AUTO_BUF struct buf body = BUF_INIT(BUF_NO_LIMIT);
    const char *query = http_query(request, "q"), *header = http_header(request, "X-Test");

    (void)self;
    buf_printf(&body, "%s %s %s %s %s %.*s", request->method, request->name, query ? query : "-",
               header ? header : "-", request->remote, STR_ARG(request->body));
    http_answer(request, &(struct http_answer){ .status = 200, .body = buf_view(&body) });
}

static void on_later(struct timer *timer)
{
    struct scene *scene = container_of(timer, struct scene, timer);

    http_answer_error(scene->kept, 503, "later");
}

static void on_slow(void *self, struct http_request *request)
{
    struct scene *scene = self;

    scene->kept = request;
    timer_set(loop_timers(scene->loop), &scene->timer, clock_now() + CLOCK_MS, on_later);
}

static void on_keep(void *self, struct http_request *request)
{
    struct scene *scene = self;

    scene->kept = request;
    loop_stop(scene->loop);
}

static void on_beat(struct timer *timer)
{
    struct scene *scene = container_of(timer, struct scene, timer);

    scene->beats++;
    if (scene->beats == 3) {
        http_stream_end(scene->stream);
        return;
    }
    http_stream_send(scene->stream, "state", scene->beats == 1 ? "one" : "two");
    http_stream_beat(scene->stream);
    timer_set(loop_timers(scene->loop), timer, clock_now() + CLOCK_MS, on_beat);
}

static void on_closed(void *self)
{
    ((struct scene *)self)->closed++;
}

static void on_stream(void *self, struct http_request *request)
{
    struct scene *scene = self;

    scene->stream = http_stream_new(request, on_closed, scene);
    timer_set(loop_timers(scene->loop), &scene->timer, clock_now() + CLOCK_MS, on_beat);
}

static void on_endless(void *self, struct http_request *request)
{
    struct scene *scene = self;

    scene->stream = http_stream_new(request, on_closed, scene);
    loop_stop(scene->loop);
}

static const struct http_route routes[] = {
    { "GET", "/echo/{name}", on_echo },
    { "POST", "/echo/{name}", on_echo },
    { "GET", "/slow", on_slow },
    { "GET", "/keep", on_keep },
    { "GET", "/stream", on_stream },
    { "GET", "/endless", on_endless },
    { 0 },
};

static void on_answered(void *self, const struct http_request *request, int status)
{
    (void)request;
    ((struct scene *)self)->answered = status;
}

static void scene_begin(struct scene *scene, int64_t timeout)
{
    struct err err;

    *scene = (struct scene){ .loop = loop_new(&err), .reply = BUF_INIT(1 << 20) };
    CHECK(scene->loop);
    scene->server = http_server_new(&(struct http_options){ .loop = scene->loop,
                                                            .address = "127.0.0.1:0",
                                                            .routes = routes,
                                                            .self = scene,
                                                            .answered = on_answered,
                                                            .body_max = 100,
                                                            .request_timeout = timeout },
                                    &err);
    CHECK(scene->server);
    scene->port = http_server_port(scene->server);
}

static void scene_end(struct scene *scene)
{
    http_server_free(scene->server);
    loop_free(scene->loop);
    buf_done(&scene->reply);
}

static void *run_client(void *argument)
{
    struct scene *scene = argument;
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(scene->port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char bytes[4096];
    ssize_t n = -1;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
        send(fd, scene->text.p, scene->text.n, MSG_NOSIGNAL) == (ssize_t)scene->text.n)
        while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
            buf_add(&scene->reply, bytes, (size_t)n);
    (void)close(fd);
    __atomic_store_n(&scene->is_done, true, __ATOMIC_RELEASE);
    return NULL;
}

static void start_client(struct scene *scene, const char *text)
{
    buf_clear(&scene->reply);
    scene->text = str_from(text);
    scene->is_done = false;
    CHECK_INT(pthread_create(&scene->thread, NULL, run_client, scene), 0);
}

/* Say it and run the loop until the client has seen the end. */
static const char *say(struct scene *scene, const char *text)
{
    start_client(scene, text);
    while (!__atomic_load_n(&scene->is_done, __ATOMIC_ACQUIRE))
        loop_turn(scene->loop);
    (void)pthread_join(scene->thread, NULL);
    return buf_text(&scene->reply);
}

#define CLOSE "Host: x\r\nConnection: close\r\n\r\n"

TEST(a_handler_gets_path_query_header_body_and_address_and_its_answer_has_the_usual_headers)
{
    struct scene scene;
    const char *reply;

    scene_begin(&scene, 0);
    reply = say(&scene, "POST /echo/me?q=a%20b HTTP/1.1\r\nX-Test: yes\r\nContent-Length: 4\r\n"
                        "Host: x\r\nConnection: close\r\n\r\nbody");
    CHECK_HAS(reply, "HTTP/1.1 200 ");
    CHECK_HAS(reply, "POST me a b yes 127.0.0.1 body");
    CHECK_HAS(reply, "X-Content-Type-Options: nosniff\r\n");
    CHECK_HAS(reply, "Cache-Control: no-store\r\n");
    CHECK_HAS(reply, "Content-Type: application/json\r\n");
    CHECK(!strstr(reply, "Strict-Transport-Security"));
    CHECK_INT(scene.answered, 200);
    scene_end(&scene);
}

TEST(a_request_without_a_route_is_refused)
{
    static const struct {
        const char *line, *answer;
    } cases[] = {
        { "GET / HTTP/1.1\r\n" CLOSE, "HTTP/1.1 404 " },
        { "GET /echo HTTP/1.1\r\n" CLOSE, "HTTP/1.1 404 " },
        { "GET /echo/ HTTP/1.1\r\n" CLOSE, "HTTP/1.1 404 " },
        { "GET /echo/a/b HTTP/1.1\r\n" CLOSE, "HTTP/1.1 404 " },
        { "DELETE /echo/a HTTP/1.1\r\n" CLOSE, "HTTP/1.1 405 " },
        { "HEAD /echo/a HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 " },
        { "POST /echo/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 101\r\n\r\n"
          "01234567890123456789012345678901234567890123456789"
          "012345678901234567890123456789012345678901234567890",
          "HTTP/1.1 413 " },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scene scene;

        scene_begin(&scene, 0);
        CHECK_HAS(say(&scene, cases[i].line), cases[i].answer);
        scene_end(&scene);
    }
}

static void add_pair(void *self, const char *key, const char *value)
{
    buf_printf(self, "%s=%s;", key, value);
}

static void on_other(void *self, struct http_request *request)
{
    AUTO_BUF struct buf body = BUF_INIT(BUF_NO_LIMIT);

    (void)self;
    http_query_each(request, add_pair, &body);
    buf_printf(&body, "%s", request->is_cut ? "cut" : "whole");
    http_set_header(request, "X-Mine", "yes");
    http_set_header(request, "Content-Security-Policy", "default-src 'self'");
    http_answer(request, &(struct http_answer){ .status = 200, .body = buf_view(&body) });
}

TEST(paths_without_a_route_go_to_a_handler_of_others_if_there_is_one)
{
    struct scene scene;
    const char *reply;
    struct err err;

    scene_begin(&scene, 0);
    http_server_free(scene.server);
    scene.server = http_server_new(&(struct http_options){ .loop = scene.loop,
                                                           .address = "127.0.0.1:0",
                                                           .routes = routes,
                                                           .self = &scene,
                                                           .other = on_other,
                                                           .body_max = 3 },
                                   &err);
    CHECK(scene.server);
    scene.port = http_server_port(scene.server);
    reply = say(&scene, "GET /odd?a=1&b=&c HTTP/1.1\r\n" CLOSE);
    CHECK_HAS(reply, "HTTP/1.1 200 ");
    CHECK_HAS(reply, "a=1;b=;c=;whole");
    CHECK_HAS(reply, "X-Mine: yes\r\n");
    CHECK_HAS(reply, "Content-Security-Policy: default-src 'self'\r\n");
    CHECK(!strstr(reply, "default-src 'none'"));
    CHECK_HAS(say(&scene, "POST /odd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                          "Content-Length: 4\r\n\r\nbody"),
              "cut");
    CHECK_HAS(say(&scene, "DELETE /echo/a HTTP/1.1\r\n" CLOSE), "HTTP/1.1 405 ");
    scene_end(&scene);
}

TEST(an_answer_may_come_later)
{
    struct scene scene;
    const char *reply;

    scene_begin(&scene, 0);
    reply = say(&scene, "GET /slow HTTP/1.1\r\n" CLOSE);
    CHECK_HAS(reply, "HTTP/1.1 503 ");
    CHECK_HAS(reply, "{\"error\":\"later\"}\n");
    scene_end(&scene);
}

TEST(a_stream_sends_events_until_it_is_ended)
{
    struct scene scene;
    const char *reply;

    scene_begin(&scene, 0);
    reply = say(&scene, "GET /stream HTTP/1.1\r\n" CLOSE);
    CHECK_HAS(reply, "Content-Type: text/event-stream\r\n");
    CHECK_HAS(reply, "event: state\ndata: one\n\n");
    CHECK_HAS(reply, "event: state\ndata: two\n\n");
    CHECK_INT(scene.closed, 0);
    scene_end(&scene);
}

TEST(a_server_that_ends_closes_streams_and_drops_late_answers)
{
    struct scene scene;

    scene_begin(&scene, 0);
    start_client(&scene, "GET /endless HTTP/1.1\r\n" CLOSE);
    loop_run(scene.loop);
    http_server_free(scene.server);
    (void)pthread_join(scene.thread, NULL);
    CHECK_INT(scene.closed, 1);
    scene.server = NULL;
    scene_end(&scene);

    scene_begin(&scene, 0);
    start_client(&scene, "GET /keep HTTP/1.1\r\n" CLOSE);
    loop_run(scene.loop);
    http_server_free(scene.server);
    (void)pthread_join(scene.thread, NULL);
    http_answer_error(scene.kept, 500, "nobody hears");
    scene.server = NULL;
    scene_end(&scene);
}

TEST(a_request_that_does_not_arrive_in_time_is_cut_off)
{
    struct scene scene;

    scene_begin(&scene, 20 * CLOCK_MS);
    CHECK_STR(say(&scene, "GET /echo/a HTTP/1.1\r\nHost:"), "");
    scene_end(&scene);
}

TEST(addresses_are_checked)
{
    static const char *const good[] = { ":0", "127.0.0.1:1", "[::1]:65535" };
    static const char *const bad[] = { "",       "8443", "localhost:1", "1.2.3:1", "::1:1",
                                       ":65536", ":-1",  ":x",          "[::1:1",  "[1.2.3.4]:1" };
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        CHECK_INT(address_check(good[i], &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_INT(address_check(bad[i], &err), -1);
}
