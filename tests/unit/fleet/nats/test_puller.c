#include "fleet/nats/puller.h"

#include "core/base/arena.h"
#include "js_scene.h"
#include "fleet/nats/ack.h"
#include "fleet/nats/core.h"
#include "fleet/nats/ordered.h"
#include "fleet/nats/subject.h"

struct catcher {
    struct nats_conn *conn;
    struct nats_puller *puller;
    struct buf text;
    int count, troubles, failures, hold, held, held_peak;
    bool no_ack;
    struct nats_error error;
    char last_reply[256];
    struct nats_delivery last;
};

static void on_message(void *self, const struct nats_msg *msg)
{
    struct catcher *catcher = self;
    struct err err;

    catcher->count++;
    catcher->held++;
    if (catcher->held > catcher->held_peak)
        catcher->held_peak = catcher->held;
    CHECK(nats_delivery_parse(msg->reply, &catcher->last));
    catcher->last.stream = catcher->last.consumer = STR("");
    buf_printf(&catcher->text, "%.*s ", STR_ARG(msg->payload));
    (void)snprintf(catcher->last_reply, sizeof(catcher->last_reply), "%.*s", STR_ARG(msg->reply));
    if (catcher->no_ack)
        return;
    CHECK_INT(nats_ack(catcher->conn, msg->reply, &err), 0);
    if (catcher->held > catcher->hold) {
        nats_puller_done(catcher->puller, (size_t)catcher->held);
        catcher->held = 0;
    }
}

static void on_trouble(void *self, const struct nats_error *error)
{
    struct catcher *catcher = self;

    catcher->troubles++;
    catcher->error = *error;
}

static void on_failed(void *self, const struct nats_error *error)
{
    struct catcher *catcher = self;

    catcher->failures++;
    catcher->error = *error;
}

static void start_pulling(struct js_scene *world, struct catcher *catcher, size_t batch)
{
    catcher->conn = world->conn.conn;
    catcher->text.max = BUF_NO_LIMIT;
    catcher->puller = nats_puller_new(&world->js,
                                      &(struct nats_puller_options){ .stream = "S",
                                                                     .consumer = "c",
                                                                     .batch = batch,
                                                                     .expires = CLOCK_SECOND,
                                                                     .heartbeat = 200 * CLOCK_MS,
                                                                     .message = on_message,
                                                                     .trouble = on_trouble,
                                                                     .failed = on_failed,
                                                                     .self = catcher },
                                      &world->scene.err);
    CHECK(catcher->puller != NULL);
}

static void stop_pulling(struct catcher *catcher)
{
    nats_puller_free(catcher->puller);
    buf_done(&catcher->text);
}

static void make_consumer(struct js_scene *world, const struct nats_consumer_config *config)
{
    JS_OK(world,
          nats_consumer_ensure(&world->js, "S", config, js_on_consumer, &done, &world->scene.err));
}

static void store(struct js_scene *world, int from, int to)
{
    struct nats_publisher *publisher =
        nats_publisher_new(&world->js, &(struct nats_publisher_options){ .queue_max = 100000 });
    static struct js_outcome outcome;
    char payload[16];

    outcome = (struct js_outcome){ 0 };
    for (int i = from; i < to; i++) {
        (void)snprintf(payload, sizeof(payload), "%d", i);
        CHECK_INT(nats_publisher_send(
                      publisher,
                      &(struct nats_store){ .subject = STR("s.x"), .payload = str_from(payload) },
                      js_on_ack, &outcome, &world->scene.err),
                  0);
    }
    SCENE_RUN(&world->scene, outcome.count == to - from);
    nats_publisher_free(publisher);
}

static void begin(struct js_scene *world, const struct nats_consumer_config *config)
{
    js_scene_begin(world);
    js_make_stream(world, "S", "s.>");
    if (config)
        make_consumer(world, config);
}

static const struct nats_consumer_config durable = { .name = "c", .durable = true };

TEST(all_messages_come_in_order_and_are_gone_when_acked)
{
    struct catcher catcher = { .hold = 5 };
    struct js_outcome outcome;
    struct js_scene world;

    begin(&world, &durable);
    store(&world, 0, 3000);
    start_pulling(&world, &catcher, 100);
    SCENE_RUN(&world.scene, catcher.count == 3000);
    CHECK_INT(catcher.last.stream_seq, 3000);
    CHECK_INT(catcher.last.consumer_seq, 3000);
    CHECK_INT(catcher.last.pending, 0);
    CHECK(strncmp(buf_text(&catcher.text), "0 1 2 3 4 5 6 7 8 9 10 11 ", 26) == 0);
    flush_conn(&world.scene, world.conn.conn);
    JS_WAIT(&world, &outcome,
            nats_consumer_info(&world.js, "S", "c", js_on_consumer, &outcome, &world.scene.err));
    CHECK_INT(outcome.pending, 0);
    store(&world, 3000, 3010); /* requests are still open */
    SCENE_RUN(&world.scene, catcher.count == 3010);
    CHECK_STR(catcher.error.text, "");
    stop_pulling(&catcher);
    js_scene_end(&world);
}

TEST(no_more_come_than_the_user_can_hold)
{
    struct catcher catcher = { .no_ack = true };
    struct js_scene world;

    begin(&world, &durable);
    store(&world, 0, 100);
    start_pulling(&world, &catcher, 10);
    SCENE_RUN(&world.scene, catcher.count == 10);
    store(&world, 100, 200);
    CHECK_INT(catcher.count, 10);
    nats_puller_done(catcher.puller, 4); /* less than half is free */
    store(&world, 200, 201);
    CHECK_INT(catcher.count, 10);
    nats_puller_done(catcher.puller, 1);
    SCENE_RUN(&world.scene, catcher.count == 15);
    store(&world, 201, 202);
    CHECK_INT(catcher.count, 15);
    stop_pulling(&catcher);
    js_scene_end(&world);
}

/* Done with the first half of the batch at once, and with the other never. */
static void on_first_half(void *self, const struct nats_msg *msg)
{
    struct catcher *catcher = self;

    (void)msg;
    if (++catcher->count <= 4)
        nats_puller_done(catcher->puller, 1);
}

TEST(a_user_that_works_on_half_of_the_batch_is_given_more)
{
    struct catcher catcher = { 0 };
    struct js_scene world;

    begin(&world, &durable);
    store(&world, 0, 20);
    catcher.puller = nats_puller_new(&world.js,
                                     &(struct nats_puller_options){ .stream = "S",
                                                                    .consumer = "c",
                                                                    .batch = 8,
                                                                    .message = on_first_half,
                                                                    .self = &catcher },
                                     &world.scene.err);
    CHECK(catcher.puller != NULL);
    SCENE_RUN(&world.scene, catcher.count == 12);
    nats_puller_free(catcher.puller);
    js_scene_end(&world);
}

/* The connection says that a publisher has more to send, and never that it is done. */
TEST(publishers_of_the_connection_go_first_and_every_message_comes_nevertheless)
{
    enum { BATCH = 1000, MESSAGES = 4 * BATCH };
    struct catcher catcher = { 0 };
    struct js_scene world;
    int64_t begun;

    begin(&world, &durable);
    store(&world, 0, MESSAGES);
    CHECK_INT(world.conn.conn->backlogs, 0);
    world.conn.conn->backlogs = 1;
    begun = clock_now();
    start_pulling(&world, &catcher, BATCH);
    SCENE_RUN(&world.scene, catcher.count == MESSAGES);
    CHECK(clock_now() - begun >= (MESSAGES - BATCH) * NATS_PULLER_SHARE_NS);
    CHECK_INT(catcher.troubles, 0);
    world.conn.conn->backlogs = 0;
    stop_pulling(&catcher);
    js_scene_end(&world);
}

static void on_busy(void *self, const struct nats_msg *msg)
{
    struct catcher *catcher = self;
    struct err err;

    CHECK_INT(nats_ack(catcher->conn, msg->reply, &err), 0);
    catcher->count++;
    nats_puller_done(catcher->puller, 1);
}

static void start_busy(struct js_scene *world, struct catcher *catcher)
{
    catcher->conn = world->conn.conn;
    catcher->puller = nats_puller_new(&world->js,
                                      &(struct nats_puller_options){ .stream = "S",
                                                                     .consumer = "c",
                                                                     .batch = 8,
                                                                     .is_busy = true,
                                                                     .expires = CLOCK_SECOND,
                                                                     .heartbeat = 200 * CLOCK_MS,
                                                                     .message = on_busy,
                                                                     .trouble = on_trouble,
                                                                     .self = catcher },
                                      &world->scene.err);
    CHECK(catcher->puller != NULL);
}

static int count_waiting(struct js_scene *world)
{
    struct js_outcome outcome;

    JS_WAIT(world, &outcome,
            nats_consumer_info(&world->js, "S", "c", js_on_consumer, &outcome, &world->scene.err));
    return (int)outcome.waiting;
}

TEST(a_busy_user_has_a_second_request_before_the_first_is_served)
{
    struct catcher catcher = { 0 };
    struct js_scene world;

    begin(&world, &durable);
    start_busy(&world, &catcher);
    store(&world, 0, 3);
    SCENE_RUN(&world.scene, catcher.count == 3);
    CHECK_INT(count_waiting(&world), 1); /* five are still to come: more than half */
    store(&world, 3, 4);
    SCENE_RUN(&world.scene, catcher.count == 4);
    CHECK_INT(count_waiting(&world), 2);
    nats_puller_free(catcher.puller);
    js_scene_end(&world);
}

static void pass_time(struct js_scene *world, int64_t ns)
{
    const int64_t until = clock_now() + ns;

    SCENE_RUN(&world->scene, clock_now() > until);
}

/* The first request expires with four messages to come, half a second before the second: were they
 * still counted, less and less would be asked for. */
TEST(requests_of_a_busy_user_expire_one_by_one_without_trouble)
{
    struct catcher catcher = { 0 };
    struct js_scene world;

    begin(&world, &durable);
    start_busy(&world, &catcher);
    for (int i = 0; i < 12; i += 4) {
        pass_time(&world, 500 * CLOCK_MS);
        store(&world, i, i + 4);
        SCENE_RUN(&world.scene, catcher.count == i + 4);
        pass_time(&world, 700 * CLOCK_MS);
    }
    store(&world, 12, 200);
    SCENE_RUN(&world.scene, catcher.count == 200);
    CHECK_INT(catcher.troubles, 0);
    nats_puller_free(catcher.puller);
    js_scene_end(&world);
}

TEST(an_idle_consumer_is_asked_again_and_again_without_trouble)
{
    struct catcher catcher = { 0 };
    struct js_scene world;
    int64_t until;

    begin(&world, &durable);
    start_pulling(&world, &catcher, 10);
    until = clock_now() + 2500 * CLOCK_MS; /* two requests expire */
    SCENE_RUN(&world.scene, clock_now() > until);
    CHECK_INT(catcher.troubles + catcher.failures, 0);
    store(&world, 0, 1);
    SCENE_RUN(&world.scene, catcher.count == 1);
    stop_pulling(&catcher);
    js_scene_end(&world);
}

TEST(a_consumer_that_is_missing_is_reported_and_used_once_it_is_there)
{
    struct catcher catcher = { 0 };
    struct js_scene world;

    begin(&world, NULL);
    store(&world, 0, 1);
    start_pulling(&world, &catcher, 10);
    SCENE_RUN(&world.scene, catcher.troubles > 0);
    CHECK_HAS(catcher.error.text, "consumer 'c' of stream 'S': ");
    make_consumer(&world, &durable);
    SCENE_RUN(&world.scene, catcher.count == 1);
    CHECK_INT(catcher.failures, 0);
    stop_pulling(&catcher);
    js_scene_end(&world);
}

TEST(a_consumer_that_is_deleted_ends_the_puller)
{
    struct catcher catcher = { 0 };
    struct js_scene world;

    begin(&world, &durable);
    start_pulling(&world, &catcher, 10);
    flush_conn(&world.scene, world.conn.conn);
    JS_OK(&world, nats_consumer_delete(&world.js, "S", "c", js_on_done, &done, &world.scene.err));
    SCENE_RUN(&world.scene, catcher.failures == 1);
    CHECK_STR(catcher.error.text, "consumer 'c' of stream 'S': Consumer Deleted");
    CHECK_INT(catcher.error.fault, NATS_FAULT_NOT_FOUND);
    stop_pulling(&catcher);
    js_scene_end(&world);
}

TEST(a_request_that_the_consumer_does_not_allow_ends_the_puller)
{
    struct catcher catcher = { 0 };
    struct js_scene world;

    begin(&world,
          &(struct nats_consumer_config){ .name = "c", .durable = true, .max_request_batch = 5 });
    start_pulling(&world, &catcher, 10);
    SCENE_RUN(&world.scene, catcher.failures == 1);
    CHECK_HAS(catcher.error.text, "Exceeded MaxRequestBatch");
    stop_pulling(&catcher);
    js_scene_end(&world);
}

TEST(a_nak_brings_a_message_again_after_its_delay)
{
    struct catcher catcher = { .no_ack = true };
    struct js_scene world;
    int64_t begun;

    begin(&world, &durable);
    store(&world, 0, 1);
    start_pulling(&world, &catcher, 10);
    SCENE_RUN(&world.scene, catcher.count == 1);
    CHECK_INT(catcher.last.deliveries, 1);
    begun = clock_now();
    CHECK_INT(
        nats_nak(world.conn.conn, str_from(catcher.last_reply), 300 * CLOCK_MS, &world.scene.err),
        0);
    SCENE_RUN(&world.scene, catcher.count == 2);
    CHECK(clock_now() - begun >= 290 * CLOCK_MS);
    CHECK_INT(catcher.last.deliveries, 2);
    CHECK_INT(nats_nak(world.conn.conn, str_from(catcher.last_reply), 0, &world.scene.err), 0);
    SCENE_RUN(&world.scene, catcher.count == 3);
    stop_pulling(&catcher);
    js_scene_end(&world);
}

TEST(progress_keeps_a_message_and_term_ends_it)
{
    struct catcher catcher = { .no_ack = true };
    struct js_outcome outcome;
    struct js_scene world;
    int64_t until;

    begin(&world, &(struct nats_consumer_config){
                      .name = "c", .durable = true, .ack_wait = 400 * CLOCK_MS });
    store(&world, 0, 1);
    start_pulling(&world, &catcher, 10);
    SCENE_RUN(&world.scene, catcher.count == 1);
    for (int i = 0; i < 8; i++) {
        until = clock_now() + 100 * CLOCK_MS;
        SCENE_RUN(&world.scene, clock_now() > until);
        CHECK_INT(
            nats_ack_progress(world.conn.conn, str_from(catcher.last_reply), &world.scene.err), 0);
    }
    CHECK_INT(catcher.count, 1); /* twice the time is over */
    CHECK_INT(nats_ack_term(world.conn.conn, str_from(catcher.last_reply), &world.scene.err), 0);
    until = clock_now() + 600 * CLOCK_MS;
    SCENE_RUN(&world.scene, clock_now() > until);
    CHECK_INT(catcher.count, 1);
    JS_WAIT(&world, &outcome,
            nats_consumer_info(&world.js, "S", "c", js_on_consumer, &outcome, &world.scene.err));
    CHECK_INT(outcome.ack_pending, 0);
    stop_pulling(&catcher);
    js_scene_end(&world);
}

TEST(an_ack_can_be_confirmed)
{
    struct catcher catcher = { .no_ack = true };
    struct js_outcome outcome;
    struct js_scene world;

    begin(&world, &durable);
    store(&world, 0, 1);
    start_pulling(&world, &catcher, 10);
    SCENE_RUN(&world.scene, catcher.count == 1);
    JS_WAIT(&world, &outcome,
            nats_ack_sync(world.conn.conn, str_from(catcher.last_reply), 5 * CLOCK_SECOND,
                          js_on_done, &outcome, &world.scene.err));
    CHECK_STR(outcome.error.text, "");
    JS_WAIT(&world, &outcome,
            nats_consumer_info(&world.js, "S", "c", js_on_consumer, &outcome, &world.scene.err));
    CHECK_INT(outcome.ack_pending, 0);
    stop_pulling(&catcher);
    js_scene_end(&world);
}

TEST(a_crash_of_the_server_is_survived_and_nothing_is_missed)
{
    struct catcher catcher = { 0 };
    struct js_scene world;

    begin(&world, &durable);
    start_pulling(&world, &catcher, 50);
    for (int i = 1; i <= 3; i++) {
        store(&world, 100 * i, 100 * (i + 1));
        SCENE_RUN(&world.scene, catcher.count >= 100 * i);
        flush_conn(&world.scene, world.conn.conn);
        server_stop(&world.server, SIGKILL);
        server_start(&world.server);
    }
    store(&world, 400, 401);
    SCENE_RUN(&world.scene, strstr(buf_text(&catcher.text), " 400 "));
    CHECK_INT(catcher.failures, 0);
    stop_pulling(&catcher);
    js_scene_end(&world);
}

struct poisoned {
    int count;
    uint64_t seq;
    int64_t deliveries;
};

static void on_poison(void *self, const struct nats_msg *msg)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct poisoned *poisoned = self;
    struct nats_poison poison;

    CHECK(nats_poison_parse(&arena, msg->payload, &poison));
    CHECK(str_is(poison.stream, "S") && str_is(poison.consumer, "c"));
    poisoned->count++;
    poisoned->seq = poison.stream_seq;
    poisoned->deliveries = poison.deliveries;
}

TEST(a_message_that_nobody_can_handle_is_reported)
{
    struct catcher catcher = { .no_ack = true };
    struct poisoned poisoned = { 0 };
    const struct nats_sub_options options = { .subject = NATS_POISON_SUBJECT ".S.c",
                                              .message = on_poison,
                                              .self = &poisoned };
    struct nats_sub *sub;
    struct js_scene world;

    begin(&world, &(struct nats_consumer_config){
                      .name = "c", .durable = true, .max_deliver = 2, .ack_wait = 100 * CLOCK_MS });
    sub = nats_sub_new(world.js.conn, &options, &world.scene.err);
    CHECK(sub != NULL);
    store(&world, 0, 1);
    start_pulling(&world, &catcher, 10);
    SCENE_RUN(&world.scene, poisoned.count == 1);
    CHECK_INT(poisoned.seq, 1);
    CHECK_INT(poisoned.deliveries, 2);
    CHECK_INT(catcher.count, 2);
    nats_sub_free(sub);
    stop_pulling(&catcher);
    js_scene_end(&world);
}

TEST(what_is_not_a_word_about_a_message_that_was_given_up_is_refused)
{
    static const char *const texts[] = { "", "[]", "{", "{}", "{\"stream_seq\":\"1\"}" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct nats_poison poison;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        CHECK(!nats_poison_parse(&arena, str_from(texts[i]), &poison));
}

TEST(a_consumer_is_made_as_asked_or_the_difference_is_reported)
{
    struct nats_consumer_config config = { .name = "c",
                                           .durable = true,
                                           .description = "workers",
                                           .filter_subject = "s.*",
                                           .ack_wait = 7 * CLOCK_SECOND,
                                           .max_deliver = 5,
                                           .max_ack_pending = 64,
                                           .deliver = NATS_DELIVER_NEW };
    struct js_outcome outcome;
    struct js_scene world;

    begin(&world, &config);
    make_consumer(&world, &config); /* twice is once */
    config.max_ack_pending = 128;   /* can be changed */
    make_consumer(&world, &config);
    config.deliver = NATS_DELIVER_ALL; /* cannot */
    JS_WAIT(
        &world, &outcome,
        nats_consumer_ensure(&world.js, "S", &config, js_on_consumer, &outcome, &world.scene.err));
    CHECK_INT(outcome.failed, true);
    CHECK_HAS(outcome.error.text, "consumer 'c' of stream 'S': ");
    JS_WAIT(
        &world, &outcome,
        nats_consumer_info(&world.js, "S", "other", js_on_consumer, &outcome, &world.scene.err));
    CHECK_INT(outcome.error.code, NATS_JS_CONSUMER_NOT_FOUND);
    js_scene_end(&world);
}

static const struct {
    const char *reply;
    bool ok;
    uint64_t seq;
} replies[] = {
    { "$JS.ACK.S.c.1.22.3.1700000000000000000.4", true, 22 },
    { "$JS.ACK.dom.acc.S.c.1.23.3.1700000000000000000.4", true, 23 },
    { "$JS.ACK._.acc.S.c.1.24.3.1700000000000000000.4.random", true, 24 },
    { "$JS.ACK.S.c.1.22.3.1700000000000000000", false, 0 },
    { "$JS.ACK.S.c.x.22.3.1700000000000000000.4", false, 0 },
    { "$JS.ACK.S.c.1.22.3.17.4.5", false, 0 },
    { "_INBOX.x", false, 0 },
    { "", false, 0 },
};

/* --- consumers of one reader -------------------------------------------------------- */

struct asked {
    int count;
    bool same;
    char subject[NATS_SUBJECT_MAX];
};

static void on_asked(void *self, const struct nats_msg *msg)
{
    struct asked *asked = self;

    if (asked->count++ == 0)
        (void)snprintf(asked->subject, sizeof(asked->subject), "%.*s", (int)msg->subject.n,
                       msg->subject.p);
    asked->same = str_is(msg->subject, asked->subject);
}

static void ignore_message(void *self, const struct nats_msg *msg,
                           const struct nats_delivery *delivery)
{
    (void)self;
    (void)msg;
    (void)delivery;
}

TEST(a_consumer_that_was_asked_for_without_an_answer_is_asked_for_again_by_its_name)
{
    struct js_scene world;
    struct asked asked = { 0 };
    struct nats_ordered *ordered;
    struct nats_sub *server;

    js_scene_begin(&world);
    server = nats_sub_new(world.js.conn,
                          &(struct nats_sub_options){ .subject = "silent.CONSUMER.CREATE.>",
                                                      .message = on_asked,
                                                      .self = &asked },
                          &world.scene.err);
    CHECK(server);
    ordered = nats_ordered_new(
        &(struct nats_js){ .conn = world.js.conn, .prefix = "silent", .timeout = 20 * CLOCK_MS },
        &(struct nats_ordered_options){ .stream = "S", .message = ignore_message },
        &world.scene.err);
    CHECK(ordered);
    SCENE_RUN(&world.scene, asked.count == 3);
    CHECK(asked.same);
    nats_ordered_free(ordered);
    nats_sub_free(server);
    js_scene_end(&world);
}

TEST(reply_subjects_tell_about_the_delivery)
{
    for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
        struct nats_delivery delivery = { .stream_seq = 0 };

        CHECK_INT(nats_delivery_parse(str_from(replies[i].reply), &delivery), replies[i].ok);
        CHECK_INT(delivery.stream_seq, replies[i].seq);
        CHECK(!replies[i].ok || (str_is(delivery.stream, "S") && delivery.pending == 4));
    }
}
