#include "fleet/nats/publisher.h"

#include "js_scene.h"
#include "fleet/nats/core.h"
#include "fleet/nats/subject.h"

TEST(a_message_is_stored_once_under_one_id)
{
    struct nats_publisher *publisher;
    struct js_outcome outcome;
    struct js_scene world;

    js_scene_begin(&world);
    js_make_stream(&world, "S", "s.>");
    publisher = nats_publisher_new(&world.js, &(struct nats_publisher_options){ 0 });
    for (int i = 0; i < 2; i++) {
        JS_WAIT(&world, &outcome,
                nats_publisher_send(
                    publisher, &(struct nats_store){ .subject = STR("s.a"), .id = STR("id-1") },
                    js_on_ack, &outcome, &world.scene.err));
        CHECK_STR(outcome.error.text, "");
        CHECK_INT(outcome.seq, 1);
        CHECK_INT(outcome.duplicate, i);
    }
    nats_publisher_free(publisher);
    js_scene_end(&world);
}

TEST(an_id_with_a_secret_is_known_again_by_who_has_the_secret_alone)
{
    const struct {
        struct str secret;
        int seq;
        bool duplicate;
    } rounds[] = {
        { STR("ours"), 1, false },
        { STR("ours"), 1, true },
        { STR("theirs"), 2, false },
        { STR(""), 3, false },
    };
    struct js_outcome outcome;
    struct js_scene world;

    js_scene_begin(&world);
    js_make_stream(&world, "S", "s.>");
    for (size_t i = 0; i < ARRAY_LEN(rounds); i++) {
        struct nats_js js = world.js;
        struct nats_publisher *publisher;

        js.id_secret = rounds[i].secret;
        publisher = nats_publisher_new(&js, &(struct nats_publisher_options){ 0 });
        JS_WAIT(&world, &outcome,
                nats_publisher_send(
                    publisher, &(struct nats_store){ .subject = STR("s.a"), .id = STR("id-1") },
                    js_on_ack, &outcome, &world.scene.err));
        CHECK_INT(outcome.seq, rounds[i].seq);
        CHECK_INT(outcome.duplicate, rounds[i].duplicate);
        nats_publisher_free(publisher);
    }
    js_scene_end(&world);
}

TEST(expectations_that_do_not_hold_are_conflicts)
{
    const struct {
        struct nats_store store;
        const char *error;
    } cases[] = {
        { { .subject = STR("s.a"), .expect_last_seq = -1 }, NULL },
        { { .subject = STR("s.a"), .expect_last_seq = 1 }, NULL },
        { { .subject = STR("s.b"), .expect_last_subject_seq = -1, .id = STR("x") }, NULL },
        { { .subject = STR("s.b"), .expect_last_subject_seq = 3, .expect_last_id = "x" }, NULL },
        { { .subject = STR("s.b"), .expect_last_subject_seq = 3 }, "wrong last sequence: 4" },
        { { .subject = STR("s.b"), .expect_last_seq = 2 }, "wrong last sequence: 4" },
        { { .subject = STR("s.b"), .expect_last_id = "y" }, "wrong last msg ID" },
        { { .subject = STR("s.b"), .expect_stream = "T" }, "expected stream does not match" },
    };
    struct nats_publisher *publisher;
    struct js_outcome outcome;
    struct js_scene world;

    js_scene_begin(&world);
    js_make_stream(&world, "S", "s.>");
    publisher = nats_publisher_new(&world.js, &(struct nats_publisher_options){ 0 });
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        JS_WAIT(
            &world, &outcome,
            nats_publisher_send(publisher, &cases[i].store, js_on_ack, &outcome, &world.scene.err));
        CHECK_INT(outcome.failed, cases[i].error != NULL);
        CHECK_HAS(outcome.error.text, cases[i].error ? cases[i].error : "");
        if (i == 4 || i == 5)
            CHECK_INT(outcome.error.fault, NATS_FAULT_CONFLICT);
    }
    nats_publisher_free(publisher);
    js_scene_end(&world);
}

TEST(a_subject_of_no_stream_fails_when_its_time_is_over)
{
    struct nats_publisher *publisher;
    struct js_outcome outcome;
    struct js_scene world;

    js_scene_begin(&world);
    publisher =
        nats_publisher_new(&world.js, &(struct nats_publisher_options){ .give_up = 50 * CLOCK_MS });
    JS_WAIT(&world, &outcome,
            nats_publisher_send(publisher, &(struct nats_store){ .subject = STR("nowhere") },
                                js_on_ack, &outcome, &world.scene.err));
    CHECK_INT(outcome.error.fault, NATS_FAULT_NO_RESPONDERS);
    CHECK_STR(outcome.error.text, "no responders on 'nowhere'");
    nats_publisher_free(publisher);
    js_scene_end(&world);
}

TEST(messages_that_find_no_connection_fail_when_their_time_is_over)
{
    struct nats_publisher *publisher;
    struct js_outcome outcomes[2] = { 0 };
    struct js_scene world;

    js_scene_begin(&world);
    publisher = nats_publisher_new(
        &world.js, &(struct nats_publisher_options){ .give_up = 50 * CLOCK_MS, .in_order = true });
    server_stop(&world.server, SIGKILL);
    SCENE_RUN(&world.scene, nats_conn_state(world.js.conn) != NATS_CONN_CONNECTED);
    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++)
        CHECK_INT(nats_publisher_send(publisher, &(struct nats_store){ .subject = STR("a") },
                                      js_on_ack, &outcomes[i], &world.scene.err),
                  0);
    SCENE_RUN(&world.scene, outcomes[0].count == 1 && outcomes[1].count == 1);
    CHECK_INT(outcomes[0].error.fault, NATS_FAULT_DISCONNECTED);
    CHECK_STR(outcomes[1].error.text, "there is no connection to the server");
    CHECK_INT(nats_publisher_count(publisher), 0);
    nats_publisher_free(publisher);
    server_start(&world.server);
    js_scene_end(&world);
}

TEST(messages_wait_for_their_stream_to_be_made)
{
    struct nats_publisher *publisher;
    struct js_outcome outcome = { 0 };
    struct js_scene world;

    js_scene_begin(&world);
    publisher = nats_publisher_new(&world.js, &(struct nats_publisher_options){ 0 });
    CHECK_INT(nats_publisher_send(publisher, &(struct nats_store){ .subject = STR("s.a") },
                                  js_on_ack, &outcome, &world.scene.err),
              0);
    flush_conn(&world.scene, world.conn.conn);
    CHECK_INT(outcome.count, 0);
    js_make_stream(&world, "S", "s.>");
    SCENE_RUN(&world.scene, outcome.count == 1);
    CHECK_STR(outcome.error.text, "");
    nats_publisher_free(publisher);
    js_scene_end(&world);
}

struct flood {
    struct nats_publisher *publisher;
    int sent, acked, failed, ready, limit;
    uint64_t last_seq;
    bool by_subject;
};

static void on_flood_ack(void *self, const struct nats_error *error,
                         const struct nats_stored_ack *ack)
{
    struct flood *flood = self;

    flood->acked += !error;
    flood->failed += error != NULL;
    if (ack)
        flood->last_seq = ack->seq;
}

static void pour(void *self)
{
    struct flood *flood = self;
    char payload[16], id[24], subject[24];
    struct err err;

    flood->ready++;
    while (flood->sent < flood->limit) {
        (void)snprintf(payload, sizeof(payload), "%d", flood->sent);
        (void)snprintf(id, sizeof(id), "id-%d", flood->sent);
        (void)snprintf(subject, sizeof(subject), "s.%d", flood->by_subject ? flood->sent % 7 : 0);
        if (nats_publisher_send(flood->publisher,
                                &(struct nats_store){ .subject = str_from(subject),
                                                      .payload = str_from(payload),
                                                      .id = str_from(id) },
                                on_flood_ack, flood, &err) < 0) {
            CHECK_INT(err.code, ERR_BUSY);
            return;
        }
        flood->sent++;
    }
}

TEST(the_queue_is_bounded_and_says_when_there_is_room)
{
    struct flood flood = { .limit = 5000 };
    struct js_scene world;

    js_scene_begin(&world);
    js_make_stream(&world, "S", "s.>");
    flood.publisher = nats_publisher_new(
        &world.js, &(struct nats_publisher_options){
                       .window = 50, .queue_max = 200, .ready = pour, .self = &flood });
    pour(&flood);
    CHECK_INT(flood.sent, 200);
    SCENE_RUN(&world.scene, flood.acked == 5000);
    CHECK_INT(flood.last_seq, 5000);
    CHECK(flood.ready > 10);
    CHECK_INT(nats_publisher_count(flood.publisher), 0);
    nats_publisher_free(flood.publisher);
    js_scene_end(&world);
}

/* Stands for a stream: keeps what is to be stored, and says when it is. */
struct storage {
    struct nats_conn *conn;
    char replies[32][NATS_SUBJECT_MAX];
    size_t count;
};

static void on_store(void *self, const struct nats_msg *msg)
{
    struct storage *storage = self;

    CHECK(storage->count < ARRAY_LEN(storage->replies));
    (void)snprintf(storage->replies[storage->count++], NATS_SUBJECT_MAX, "%.*s",
                   STR_ARG(msg->reply));
}

static void confirm(struct storage *storage, size_t from, size_t to)
{
    struct err err;

    for (size_t i = from; i < to; i++)
        CHECK_INT(
            nats_publish(storage->conn,
                         &(struct nats_pub){ .subject = str_from(storage->replies[i]),
                                             .payload = STR("{\"stream\":\"S\", \"seq\":1}") },
                         &err),
            0);
}

static void on_flushed(void *self, const struct nats_error *error)
{
    CHECK(!error);
    *(bool *)self = true;
}

/* What was answered has come, and what was sent for that, too. */
static void settle(struct js_scene *world)
{
    for (int i = 0; i < 2; i++) {
        bool is_flushed = false;

        CHECK_INT(nats_flush(world->conn.conn, on_flushed, &is_flushed, &world->scene.err), 0);
        SCENE_RUN(&world->scene, is_flushed);
    }
}

TEST(a_window_that_was_full_is_filled_again_when_half_of_it_is_stored)
{
    struct flood flood = { .limit = 20 };
    struct js_scene world;
    struct storage storage = { 0 };

    js_scene_begin(&world);
    storage.conn = world.conn.conn;
    CHECK(nats_sub_new(
        storage.conn,
        &(struct nats_sub_options){ .subject = "s.>", .message = on_store, .self = &storage },
        &world.scene.err));
    flood.publisher =
        nats_publisher_new(&world.js, &(struct nats_publisher_options){ .window = 8 });
    pour(&flood);
    settle(&world);
    CHECK_INT(storage.count, 8);
    CHECK_INT(storage.conn->backlogs, 1);
    confirm(&storage, 0, 3);
    settle(&world);
    CHECK_INT(storage.count, 8);
    confirm(&storage, 3, 4);
    settle(&world);
    CHECK_INT(storage.count, 12);
    CHECK_INT(storage.conn->backlogs, 1);
    confirm(&storage, 4, 12);
    settle(&world);
    CHECK_INT(storage.count, 20);
    CHECK_INT(storage.conn->backlogs, 0); /* all that is left is under way */
    confirm(&storage, 12, 20);
    SCENE_RUN(&world.scene, flood.acked == 20);
    nats_publisher_free(flood.publisher);
    js_scene_end(&world);
}

/* Each is stored in its order, and none before the linger is over, or somebody is in a hurry. */
static void send_two(struct js_scene *world, struct nats_publisher *publisher,
                     struct js_outcome outcomes[2])
{
    for (int i = 0; i < 2; i++) {
        outcomes[i] = (struct js_outcome){ 0 };
        CHECK_INT(nats_publisher_send(publisher, &(struct nats_store){ .subject = STR("s.a") },
                                      js_on_ack, &outcomes[i], &world->scene.err),
                  0);
    }
}

TEST(messages_wait_for_more_and_leave_together_or_when_there_is_a_hurry)
{
    struct nats_publisher *publisher;
    struct js_outcome outcomes[2];
    struct js_scene world;
    int64_t began;

    js_scene_begin(&world);
    js_make_stream(&world, "S", "s.>");
    publisher =
        nats_publisher_new(&world.js, &(struct nats_publisher_options){ .linger = 200 * CLOCK_MS });
    began = clock_now();
    send_two(&world, publisher, outcomes);
    SCENE_RUN(&world.scene, outcomes[1].count == 1);
    CHECK(clock_now() - began >= 200 * CLOCK_MS);
    CHECK_INT(outcomes[0].seq, 1);
    CHECK_INT(outcomes[1].seq, 2);
    nats_publisher_free(publisher);

    publisher = nats_publisher_new(&world.js,
                                   &(struct nats_publisher_options){ .linger = CLOCK_NEVER / 4 });
    send_two(&world, publisher, outcomes);
    nats_publisher_hurry(publisher);
    SCENE_RUN(&world.scene, outcomes[1].count == 1);
    CHECK_INT(outcomes[1].seq, 4);
    send_two(&world, publisher, outcomes);
    nats_publisher_free(publisher);
    CHECK_INT(outcomes[0].error.fault, NATS_FAULT_CANCELED);
    CHECK_INT(outcomes[1].error.fault, NATS_FAULT_CANCELED);
    js_scene_end(&world);
}

TEST(a_publisher_that_ends_leaves_no_backlog)
{
    struct flood flood = { .limit = 20 };
    struct js_scene world;

    js_scene_begin(&world);
    flood.publisher =
        nats_publisher_new(&world.js, &(struct nats_publisher_options){ .window = 8 });
    pour(&flood);
    CHECK_INT(world.conn.conn->backlogs, 1);
    nats_publisher_free(flood.publisher);
    CHECK_INT(world.conn.conn->backlogs, 0);
    CHECK_INT(flood.failed, 20);
    js_scene_end(&world);
}

TEST(a_crash_of_the_server_loses_and_doubles_nothing)
{
    struct flood flood = { .limit = 6000, .by_subject = true };
    struct js_outcome outcome;
    struct js_scene world;

    js_scene_begin(&world);
    js_make_stream(&world, "S", "s.>");
    flood.publisher = nats_publisher_new(
        &world.js,
        &(struct nats_publisher_options){
            .window = 500, .queue_max = 1000, .in_order = true, .ready = pour, .self = &flood });
    pour(&flood);
    for (int kills = 1; kills <= 3; kills++) {
        SCENE_RUN(&world.scene, flood.acked > kills * 1000);
        server_stop(&world.server, SIGKILL);
        server_start(&world.server);
    }
    SCENE_RUN(&world.scene, flood.acked == flood.limit);
    CHECK_INT(flood.failed, 0);
    JS_WAIT(&world, &outcome,
            nats_stream_info(&world.js, "S", js_on_stream, &outcome, &world.scene.err));
    CHECK_INT(outcome.messages, flood.limit);
    nats_publisher_free(flood.publisher);
    js_scene_end(&world);
}

TEST(closing_ends_every_message_once)
{
    struct flood flood = { .limit = 100 };
    struct js_scene world;

    js_scene_begin(&world); /* no stream: nothing is ever stored */
    flood.publisher =
        nats_publisher_new(&world.js, &(struct nats_publisher_options){ .window = 10 });
    pour(&flood);
    scene_turn(&world.scene);
    nats_conn_free(world.conn.conn);
    CHECK_INT(flood.failed, flood.sent);
    nats_publisher_free(flood.publisher);
    CHECK_INT(flood.failed, flood.sent);
    scene_end(&world.scene);
    server_stop(&world.server, SIGTERM);
}

static const struct {
    const char *payload;
    int result;
    uint64_t seq;
    bool duplicate;
} acks[] = {
    { "{\"stream\":\"S\", \"seq\":17}", 0, 17, false },
    { "{\"stream\":\"S\",\"seq\":18}", 0, 18, false },
    { "{\"stream\":\"S\", \"seq\":19,\"duplicate\": true}", 0, 19, true },
    { "{\"stream\":\"S\", \"domain\":\"d\",\"seq\":20}", 0, 20, false },
    { "{\"stream\":\"a\\\", \\\"seq\\\":9\", \"seq\":21}", 0, 21, false },
    { "{\"stream\":\"S\", \"seq\":0}", -1, 0, false },
    { "{\"stream\":\"S\", \"seq\":12", -1, 0, false },
    { "{\"error\":{\"code\":503,\"err_code\":10077,\"description\":\"full\"}}", -1, 0, false },
    { "", -1, 0, false },
    { "+OK", -1, 0, false },
};

TEST(acks_are_read_in_any_form)
{
    for (size_t i = 0; i < ARRAY_LEN(acks); i++) {
        struct nats_stored_ack ack = { 0 };
        struct nats_error error;

        CHECK_INT(nats_stored_ack_decode(str_from(acks[i].payload), NULL, &ack, &error),
                  acks[i].result);
        CHECK_INT(ack.seq, acks[i].seq);
        CHECK_INT(ack.duplicate, acks[i].duplicate);
    }
}
