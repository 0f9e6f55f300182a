#include "fleet/nats/conn.h"

#include "fleet/nats/info.h"
#include "scene.h"
#include "server.h"

TEST(messages_reach_their_subscriptions)
{
    struct server server = server_new("");
    struct inbox all, some;
    struct watched conn;
    struct scene scene;
    struct nats_sub *sub;

    server_start(&server);
    scene_begin(&scene);
    watched_connect(&scene, &conn, server.url);
    sub = inbox_open(conn.conn, &all, "a.>", NULL);
    (void)inbox_open(conn.conn, &some, "a.*.c", NULL);
    publish_text(conn.conn, "a.b", "1");
    publish_text(conn.conn, "a.b.c", "2");
    publish_text(conn.conn, "b", "3");
    SCENE_RUN(&scene, all.count == 2 && some.count == 1);
    CHECK_STR(buf_text(&all.text), "a.b=1 a.b.c=2 ");
    CHECK_STR(buf_text(&some.text), "a.b.c=2 ");
    nats_sub_free(sub);
    publish_text(conn.conn, "a.b.c", "4");
    SCENE_RUN(&scene, some.count == 2);
    CHECK_INT(all.count, 2);
    CHECK(nats_conn_version(conn.conn) >= NATS_VERSION(2, 9, 0));
    nats_conn_free(conn.conn);
    CHECK_INT(conn.counts[NATS_EVENT_CLOSED], 1);
    buf_done(&all.text);
    buf_done(&some.text);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

TEST(what_is_published_before_the_connection_stands_arrives)
{
    struct server server = server_new("");
    const char *url = server.url;
    struct watched conn;
    struct scene scene;
    struct inbox inbox;

    scene_begin(&scene);
    watched_start(&scene, &conn,
                  &(struct nats_options){ .servers = &url,
                                          .server_count = 1,
                                          .plain = true,
                                          .backoff_min = CLOCK_MS,
                                          .backoff_max = 10 * CLOCK_MS });
    (void)inbox_open(conn.conn, &inbox, "early", NULL);
    publish_text(conn.conn, "early", "bird");
    SCENE_RUN(&scene, conn.counts[NATS_EVENT_RETRY] > 2); /* nobody is there */
    CHECK_HAS(conn.error, "Connection refused");
    CHECK_INT(conn.fault, NATS_FAULT_NETWORK);
    server_start(&server);
    SCENE_RUN(&scene, inbox.count == 1);
    CHECK_STR(buf_text(&inbox.text), "early=bird ");
    nats_conn_free(conn.conn);
    buf_done(&inbox.text);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

TEST(a_restart_of_the_server_is_survived_by_subscriptions)
{
    struct server server = server_new("");
    struct watched conn;
    struct scene scene;
    struct inbox inbox;

    server_start(&server);
    scene_begin(&scene);
    watched_connect(&scene, &conn, server.url);
    (void)inbox_open(conn.conn, &inbox, "x", NULL);
    flush_conn(&scene, conn.conn);
    for (int i = 1; i <= 3; i++) {
        server_stop(&server, SIGKILL);
        SCENE_RUN(&scene, conn.counts[NATS_EVENT_DISCONNECTED] == i);
        publish_text(conn.conn, "x", "meanwhile");
        server_start(&server);
        SCENE_RUN(&scene, inbox.count == i);
        CHECK_INT(conn.counts[NATS_EVENT_CONNECTED], i + 1);
    }
    nats_conn_free(conn.conn);
    buf_done(&inbox.text);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

TEST(what_waits_for_a_connection_is_bounded)
{
    const char *url = "nats://127.0.0.1:1";
    struct watched conn;
    struct scene scene;
    int result;

    scene_begin(&scene);
    watched_start(&scene, &conn,
                  &(struct nats_options){
                      .servers = &url, .server_count = 1, .plain = true, .parked_max = 1000 });
    do
        result = nats_publish(
            conn.conn, &(struct nats_pub){ .subject = STR("a"), .payload = STR("1234567890") },
            &scene.err);
    while (result == 0);
    CHECK_INT(scene.err.code, ERR_BUSY);
    CHECK_HAS(scene.err.text, "no connection");
    CHECK(nats_conn_is_busy(conn.conn));
    nats_conn_free(conn.conn);
    scene_end(&scene);
}

TEST(a_connection_gives_up_after_as_many_attempts_as_it_may)
{
    const char *urls[] = { "nats://127.0.0.1:1", "nats://localhost:2" };
    struct watched conn;
    struct scene scene;

    scene_begin(&scene);
    watched_start(&scene, &conn,
                  &(struct nats_options){ .servers = urls,
                                          .server_count = 2,
                                          .plain = true,
                                          .ordered = true,
                                          .attempts_max = 2,
                                          .backoff_min = CLOCK_MS });
    SCENE_RUN(&scene, conn.counts[NATS_EVENT_CLOSED] == 1);
    CHECK_INT(conn.counts[NATS_EVENT_RETRY], 1);
    CHECK_STR(conn.error, "localhost:2: connect: Connection refused");
    CHECK_INT(nats_publish(conn.conn, &(struct nats_pub){ .subject = STR("a") }, &scene.err), -1);
    CHECK_INT(scene.err.code, ERR_CANCELED);
    nats_conn_free(conn.conn);
    CHECK_INT(conn.counts[NATS_EVENT_CLOSED], 1);
    scene_end(&scene);
}

TEST(a_name_that_nobody_knows_is_reported)
{
    const char *url = "nats://no-such-host.invalid:4222";
    struct watched conn;
    struct scene scene;

    scene_begin(&scene);
    watched_start(&scene, &conn,
                  &(struct nats_options){
                      .servers = &url, .server_count = 1, .plain = true, .attempts_max = 1 });
    SCENE_RUN(&scene, conn.counts[NATS_EVENT_CLOSED] == 1);
    CHECK_HAS(conn.error, "no-such-host.invalid:4222: ");
    nats_conn_free(conn.conn);
    scene_end(&scene);
}

TEST(a_connection_may_be_freed_while_its_name_is_being_resolved)
{
    const char *url = "nats://no-such-host.invalid:4222";
    struct watched conn;
    struct scene scene;

    scene_begin(&scene);
    watched_start(&scene, &conn,
                  &(struct nats_options){ .servers = &url, .server_count = 1, .plain = true });
    scene_turn(&scene);
    nats_conn_free(conn.conn);
    CHECK_INT(conn.fault, NATS_FAULT_CANCELED);
    scene_end(&scene);
}

TEST(options_that_make_no_sense_are_refused)
{
    static const char *const good[] = { "nats://a" }, *const bad[] = { "http://a" },
                             *const secret[] = { "nats://u:p@a" }, *const tls[] = { "tls://a" };
    const struct {
        struct nats_options options;
        const char *error;
    } cases[] = {
        { { .servers = good, .server_count = 1 },
          "a connection without TLS requires the option 'plain'" },
        { { .plain = true }, "no server to connect to" },
        { { .servers = bad, .server_count = 1, .plain = true },
          "server 'http://a': expected tls:// or nats://" },
        { { .servers = secret, .server_count = 1, .plain = true },
          "server 'nats://u:p@a': user and password do not belong into an address" },
        { { .servers = tls, .server_count = 1, .plain = true },
          "server 'a' is asked for by TLS, for which nothing is set up" },
        { { .servers = good, .server_count = 1, .plain = true, .inbox_prefix = "a.>" },
          "'a.>' is not a valid inbox prefix" },
    };
    struct scene scene;

    scene_begin(&scene);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK(!nats_conn_new(scene.hub, &cases[i].options, &scene.err));
        CHECK_STR(scene.err.text, cases[i].error);
    }
    scene_end(&scene);
}

TEST(a_message_that_cannot_be_sent_is_refused_at_once)
{
    struct server server = server_new("max_payload: 100");
    static char large[200];
    struct watched conn;
    struct scene scene;

    server_start(&server);
    scene_begin(&scene);
    watched_connect(&scene, &conn, server.url);
    CHECK_INT(nats_publish(conn.conn, &(struct nats_pub){ .subject = STR("a b") }, &scene.err), -1);
    CHECK_STR(scene.err.text, "'a b' is not a valid subject");
    CHECK_INT(nats_publish(conn.conn,
                           &(struct nats_pub){ .subject = STR("a"), .reply = STR("b\r\nPUB") },
                           &scene.err),
              -1);
    CHECK_INT(nats_publish(conn.conn,
                           &(struct nats_pub){ .subject = STR("a"), .payload = { large, 101 } },
                           &scene.err),
              -1);
    CHECK_STR(scene.err.text, "a message of 101 bytes, the server's limit is 100");
    CHECK_INT(scene.err.code, ERR_LIMIT);
    CHECK(!nats_sub_new(conn.conn, &(struct nats_sub_options){ .subject = "a.>.b" }, &scene.err));
    nats_conn_free(conn.conn);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

TEST(queue_groups_share_messages)
{
    struct server server = server_new("");
    struct watched a, b;
    struct inbox first, second;
    struct scene scene;

    server_start(&server);
    scene_begin(&scene);
    watched_connect(&scene, &a, server.url);
    watched_connect(&scene, &b, server.url);
    (void)inbox_open(a.conn, &first, "work", "crew");
    (void)inbox_open(b.conn, &second, "work", "crew");
    flush_conn(&scene, a.conn);
    flush_conn(&scene, b.conn);
    for (int i = 0; i < 200; i++)
        publish_text(a.conn, "work", "x");
    SCENE_RUN(&scene, first.count + second.count == 200);
    CHECK(first.count > 0 && second.count > 0);
    nats_conn_free(a.conn);
    nats_conn_free(b.conn);
    buf_done(&first.text);
    buf_done(&second.text);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

TEST(a_large_message_arrives_whole_between_small_ones)
{
    enum { SIZE = 900000 };
    struct server server = server_new("");
    struct watched conn;
    struct scene scene;
    struct inbox inbox;
    char *large = mem_alloc(SIZE);

    memset(large, 'x', SIZE);
    server_start(&server);
    scene_begin(&scene);
    watched_connect(&scene, &conn, server.url);
    (void)inbox_open(conn.conn, &inbox, "l", NULL);
    for (int i = 0; i < 5; i++) {
        publish_text(conn.conn, "l", "small");
        CHECK_INT(
            nats_publish(conn.conn,
                         &(struct nats_pub){ .subject = STR("l"), .payload = { large, SIZE } },
                         &scene.err),
            0);
    }
    SCENE_RUN(&scene, inbox.count == 10);
    CHECK_INT(inbox.text.n, 5 * (sizeof("l=small ") - 1) + 5 * (sizeof("l= ") - 1 + SIZE));
    nats_conn_free(conn.conn);
    buf_done(&inbox.text);
    free(large);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

struct suicide {
    struct nats_conn *conn;
    int count;
};

static void on_message_free(void *self, const struct nats_msg *msg)
{
    struct suicide *suicide = self;

    (void)msg;
    suicide->count++;
    nats_conn_free(suicide->conn);
}

TEST(a_connection_may_be_freed_by_its_own_callback)
{
    struct server server = server_new("");
    struct suicide suicide = { 0 };
    struct watched conn;
    struct scene scene;

    server_start(&server);
    scene_begin(&scene);
    watched_connect(&scene, &conn, server.url);
    suicide.conn = conn.conn;
    CHECK(nats_sub_new(
        conn.conn,
        &(struct nats_sub_options){ .subject = "x", .message = on_message_free, .self = &suicide },
        &scene.err));
    publish_text(conn.conn, "x", "1");
    publish_text(conn.conn, "x", "2");
    SCENE_RUN(&scene, suicide.count > 0);
    scene_turn(&scene);
    CHECK_INT(suicide.count, 1);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

TEST(draining_delivers_what_is_on_its_way_and_then_closes)
{
    struct server server = server_new("");
    struct watched conn, other;
    struct inbox inbox, echo;
    struct scene scene;

    server_start(&server);
    scene_begin(&scene);
    watched_connect(&scene, &conn, server.url);
    watched_connect(&scene, &other, server.url);
    (void)inbox_open(conn.conn, &inbox, "in", NULL);
    (void)inbox_open(other.conn, &echo, "out", NULL);
    flush_conn(&scene, conn.conn);
    flush_conn(&scene, other.conn);
    for (int i = 0; i < 100; i++)
        publish_text(other.conn, "in", "x");
    flush_conn(&scene, other.conn);
    publish_text(conn.conn, "out", "last");
    nats_conn_drain(conn.conn);
    SCENE_RUN(&scene, conn.counts[NATS_EVENT_CLOSED] == 1);
    CHECK_INT(conn.fault, NATS_FAULT_CANCELED);
    CHECK_INT(inbox.count, 100);
    SCENE_RUN(&scene, echo.count == 1);
    nats_conn_free(conn.conn);
    nats_conn_free(other.conn);
    buf_done(&inbox.text);
    buf_done(&echo.text);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

/* --- rights ------------------------------------------------------------------------- */

#define RIGHTS                                                                                     \
    "authorization { users: [ { user: u, password: p, permissions: { publish: [\"ok.>\", "         \
    "\"inbox.>\"], subscribe: [\"ok.>\", \"inbox.>\"] } } ] }"

static void connect_user(struct scene *scene, struct watched *conn, const struct server *server,
                         const char *password, const char *prefix)
{
    const char *url = server->url;

    watched_start(scene, conn,
                  &(struct nats_options){ .servers = &url,
                                          .server_count = 1,
                                          .plain = true,
                                          .user = "u",
                                          .password = password,
                                          .inbox_prefix = prefix,
                                          .attempts_max = 1 });
    SCENE_RUN(scene, conn->counts[NATS_EVENT_CONNECTED] + conn->counts[NATS_EVENT_CLOSED] > 0);
}

TEST(a_wrong_password_is_an_error_of_authentication)
{
    struct server server = server_new(RIGHTS);
    struct watched conn;
    struct scene scene;

    server_start(&server);
    scene_begin(&scene);
    connect_user(&scene, &conn, &server, "wrong", NULL);
    CHECK_INT(conn.counts[NATS_EVENT_CLOSED], 1);
    CHECK_INT(conn.fault, NATS_FAULT_AUTH);
    CHECK_STR(conn.error, "the server says: Authorization Violation");
    nats_conn_free(conn.conn);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

TEST(a_right_that_is_missing_fails_the_operation_that_needs_it)
{
    struct server server = server_new(RIGHTS);
    struct scene_outcome request = { 0 }, allowed = { 0 }, sub = { 0 };
    struct watched conn;
    struct scene scene;

    server_start(&server);
    scene_begin(&scene);
    connect_user(&scene, &conn, &server, "p", "inbox.u");
    CHECK_INT(nats_request(conn.conn, &(struct nats_pub){ .subject = STR("no.\"quoted\"") },
                           SCENE_SECONDS * CLOCK_SECOND, outcome_on_reply, &request, NULL,
                           &scene.err),
              0);
    CHECK_INT(nats_request(conn.conn, &(struct nats_pub){ .subject = STR("ok.x") },
                           SCENE_SECONDS * CLOCK_SECOND, outcome_on_reply, &allowed, NULL,
                           &scene.err),
              0);
    CHECK(nats_sub_new(conn.conn,
                       &(struct nats_sub_options){ .subject = "no.>",
                                                   .message = inbox_on_message,
                                                   .failed = outcome_on_done,
                                                   .self = &sub },
                       &scene.err));
    SCENE_RUN(&scene, request.count + allowed.count + sub.count == 3);
    CHECK_INT(request.error.fault, NATS_FAULT_DENIED);
    CHECK_STR(request.error.text, "no permission to publish to 'no.\"quoted\"'");
    CHECK_INT(allowed.error.fault, NATS_FAULT_NO_RESPONDERS);
    CHECK_STR(allowed.error.text, "no responders on 'ok.x'");
    CHECK_STR(sub.error.text, "no permission to subscribe to 'no.>'");
    CHECK_INT(conn.counts[NATS_EVENT_ERROR], 0);
    publish_text(conn.conn, "no", "x");
    SCENE_RUN(&scene, conn.counts[NATS_EVENT_ERROR] == 1);
    CHECK_STR(conn.error, "no permission to publish to 'no'");
    CHECK_INT(nats_conn_state(conn.conn), NATS_CONN_CONNECTED);
    nats_conn_free(conn.conn);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

TEST(an_inbox_without_the_right_to_it_fails_requests_at_once)
{
    struct server server = server_new(RIGHTS);
    struct scene_outcome request = { 0 };
    struct watched conn;
    struct scene scene;

    server_start(&server);
    scene_begin(&scene);
    connect_user(&scene, &conn, &server, "p", "foreign");
    CHECK_INT(nats_request(conn.conn, &(struct nats_pub){ .subject = STR("ok.x") },
                           SCENE_SECONDS * CLOCK_SECOND, outcome_on_reply, &request, NULL,
                           &scene.err),
              0);
    SCENE_RUN(&scene, request.count == 1);
    CHECK_HAS(request.error.text, "no permission to subscribe to 'foreign.");
    nats_conn_free(conn.conn);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

/* --- requests ----------------------------------------------------------------------- */

struct responder {
    struct nats_conn *conn;
    int count;
};

static void on_request(void *self, const struct nats_msg *msg)
{
    struct responder *responder = self;
    struct err err;

    responder->count++;
    CHECK_INT(nats_publish(responder->conn,
                           &(struct nats_pub){ .subject = msg->reply, .payload = msg->payload },
                           &err),
              0);
}

TEST(requests_are_answered_each_with_its_own_answer)
{
    enum { COUNT = 500 };
    static struct scene_outcome outcomes[COUNT];
    struct server server = server_new("");
    struct responder responder = { 0 };
    struct watched conn, other;
    struct scene scene;
    int done = 0;

    server_start(&server);
    scene_begin(&scene);
    watched_connect(&scene, &conn, server.url);
    watched_connect(&scene, &other, server.url);
    responder.conn = other.conn;
    CHECK(nats_sub_new(
        other.conn,
        &(struct nats_sub_options){ .subject = "echo", .message = on_request, .self = &responder },
        &scene.err));
    flush_conn(&scene, other.conn);
    for (int i = 0; i < COUNT; i++) {
        char text[16];

        (void)snprintf(text, sizeof(text), "%d", i);
        CHECK_INT(
            nats_request(
                conn.conn, &(struct nats_pub){ .subject = STR("echo"), .payload = str_from(text) },
                SCENE_SECONDS * CLOCK_SECOND, outcome_on_reply, &outcomes[i], NULL, &scene.err),
            0);
    }
    SCENE_RUN(&scene, responder.count == COUNT && outcomes[COUNT - 1].count == 1);
    for (int i = 0; i < COUNT; i++) {
        char text[16];

        (void)snprintf(text, sizeof(text), "%d", i);
        CHECK_STR(buf_text(&outcomes[i].payload), text);
        done += outcomes[i].count;
        buf_done(&outcomes[i].payload);
    }
    CHECK_INT(done, COUNT);
    nats_conn_free(conn.conn);
    nats_conn_free(other.conn);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

/* Knows the number of a request, but not its mark. */
static void on_request_guess(void *self, const struct nats_msg *msg)
{
    struct responder *responder = self;
    AUTO_BUF struct buf guess = BUF_INIT(4096);
    struct err err;

    buf_add_str(&guess, msg->reply);
    guess.p[guess.n - 1] = guess.p[guess.n - 1] == '0' ? '1' : '0';
    CHECK_INT(nats_publish(responder->conn,
                           &(struct nats_pub){ .subject = buf_view(&guess), .payload = STR("lie") },
                           &err),
              0);
    on_request(self, msg);
}

TEST(an_answer_with_a_guessed_mark_is_dropped)
{
    struct scene_outcome outcome = { 0 };
    struct server server = server_new("");
    struct responder responder = { 0 };
    struct watched conn, other;
    struct scene scene;

    server_start(&server);
    scene_begin(&scene);
    watched_connect(&scene, &conn, server.url);
    watched_connect(&scene, &other, server.url);
    responder.conn = other.conn;
    CHECK(nats_sub_new(other.conn,
                       &(struct nats_sub_options){
                           .subject = "echo", .message = on_request_guess, .self = &responder },
                       &scene.err));
    flush_conn(&scene, other.conn);
    CHECK_INT(nats_request(
                  conn.conn, &(struct nats_pub){ .subject = STR("echo"), .payload = STR("truth") },
                  SCENE_SECONDS * CLOCK_SECOND, outcome_on_reply, &outcome, NULL, &scene.err),
              0);
    SCENE_RUN(&scene, outcome.count == 1);
    CHECK_STR(buf_text(&outcome.payload), "truth");
    buf_done(&outcome.payload);
    nats_conn_free(conn.conn);
    nats_conn_free(other.conn);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

TEST(each_request_waits_as_long_as_it_said_whatever_others_wait)
{
    static const int64_t waits[] = { SCENE_SECONDS * CLOCK_SECOND, 40 * CLOCK_MS, 20 * CLOCK_MS,
                                     60 * CLOCK_MS };
    struct scene_outcome outcomes[ARRAY_LEN(waits)] = { { 0 } };
    struct server server = server_new("");
    struct watched conn;
    struct scene scene;
    struct inbox silent;
    int64_t begun;

    server_start(&server);
    scene_begin(&scene);
    watched_connect(&scene, &conn, server.url);
    (void)inbox_open(conn.conn, &silent, "silent", NULL);
    begun = clock_now();
    for (size_t i = 0; i < ARRAY_LEN(waits); i++)
        CHECK_INT(nats_request(conn.conn, &(struct nats_pub){ .subject = STR("silent") }, waits[i],
                               outcome_on_reply, &outcomes[i], NULL, &scene.err),
                  0);
    SCENE_RUN(&scene, outcomes[2].count == 1);
    CHECK(clock_now() - begun >= waits[2]);
    SCENE_RUN(&scene, outcomes[1].count == 1);
    CHECK(clock_now() - begun >= waits[1]);
    SCENE_RUN(&scene, outcomes[3].count == 1);
    CHECK(clock_now() - begun >= waits[3]);
    CHECK_INT(outcomes[0].count, 0);
    nats_conn_free(conn.conn);
    CHECK_INT(outcomes[0].error.fault, NATS_FAULT_CANCELED);
    buf_done(&silent.text);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}

TEST(a_request_ends_once_however_it_ends)
{
    struct scene_outcome late = { 0 }, lost = { 0 }, cancelled = { 0 }, closed = { 0 };
    struct server server = server_new("");
    struct watched conn;
    struct scene scene;
    struct inbox silent;
    uint64_t id;

    server_start(&server);
    scene_begin(&scene);
    watched_connect(&scene, &conn, server.url);
    (void)inbox_open(conn.conn, &silent, "silent", NULL);
    CHECK_INT(nats_request(conn.conn, &(struct nats_pub){ .subject = STR("silent") }, 20 * CLOCK_MS,
                           outcome_on_reply, &late, NULL, &scene.err),
              0);
    CHECK_INT(nats_request(conn.conn, &(struct nats_pub){ .subject = STR("silent") },
                           SCENE_SECONDS * CLOCK_SECOND, outcome_on_reply, &lost, NULL, &scene.err),
              0);
    CHECK_INT(nats_request(conn.conn, &(struct nats_pub){ .subject = STR("silent") }, 20 * CLOCK_MS,
                           outcome_on_reply, &cancelled, &id, &scene.err),
              0);
    nats_request_cancel(conn.conn, id);
    SCENE_RUN(&scene, late.count == 1);
    CHECK_INT(late.error.fault, NATS_FAULT_TIMEOUT);
    CHECK_STR(late.error.text, "no answer from 'silent' in time");
    server_stop(&server, SIGKILL);
    SCENE_RUN(&scene, lost.count == 1);
    CHECK_INT(lost.error.fault, NATS_FAULT_DISCONNECTED);
    CHECK_INT(nats_request(conn.conn, &(struct nats_pub){ .subject = STR("silent") },
                           SCENE_SECONDS * CLOCK_SECOND, outcome_on_reply, &closed, NULL,
                           &scene.err),
              0);
    nats_conn_free(conn.conn);
    CHECK_INT(closed.count, 1);
    CHECK_INT(closed.error.fault, NATS_FAULT_CANCELED);
    CHECK_INT(cancelled.count, 0);
    buf_done(&silent.text);
    scene_end(&scene);
}

static void on_header(void *self, const struct nats_msg *msg)
{
    struct buf *out = self;
    struct str value;

    CHECK(nats_header_find(msg->header, "A", &value));
    buf_printf(out, "%.*s %.*s", STR_ARG(value), STR_ARG(msg->payload));
}

TEST(headers_travel_with_their_message)
{
    AUTO_BUF struct buf header = BUF_INIT(NATS_HEADER_MAX), seen = BUF_INIT(NATS_HEADER_MAX);
    struct server server = server_new("");
    struct watched conn;
    struct scene scene;

    server_start(&server);
    scene_begin(&scene);
    watched_connect(&scene, &conn, server.url);
    CHECK(nats_sub_new(
        conn.conn,
        &(struct nats_sub_options){ .subject = "h", .message = on_header, .self = &seen },
        &scene.err));
    CHECK_INT(nats_header_add(&header, "A", STR("b: c"), &scene.err), 0);
    CHECK_INT(nats_publish(conn.conn,
                           &(struct nats_pub){ .subject = STR("h"),
                                               .header = buf_view(&header),
                                               .payload = STR("hi") },
                           &scene.err),
              0);
    SCENE_RUN(&scene, seen.n > 0);
    CHECK_STR(buf_text(&seen), "b: c hi");
    nats_conn_free(conn.conn);
    scene_end(&scene);
    server_stop(&server, SIGTERM);
}
