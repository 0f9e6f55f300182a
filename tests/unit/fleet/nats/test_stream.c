#include "fleet/nats/stream.h"

#include "js_scene.h"
#include "fleet/nats/info.h"

static const char *const subjects[] = { "e.>" };

static struct nats_stream_config make_config(void)
{
    return (struct nats_stream_config){
        .name = "E",
        .description = "events \"quoted\"",
        .subjects = { subjects, 1 },
        .storage = NATS_STORAGE_MEMORY,
        .discard = NATS_DISCARD_NEW,
        .max_msgs = 1000,
        .max_bytes = 1 << 20,
        .max_age = 3600 * CLOCK_SECOND,
        .max_msgs_per_subject = 10,
        .max_msg_size = 2000,
        .duplicate_window = 60 * CLOCK_SECOND,
        .allow_direct = true,
        .allow_rollup = true,
        .deny_delete = true,
        .republish_source = "e.>",
        .republish_destination = "copy.>",
    };
}

TEST(a_stream_is_made_as_it_was_asked_for_and_twice_is_once)
{
    struct nats_stream_config config = make_config();
    struct js_scene world;

    js_scene_begin(&world);
    for (int i = 0; i < 2; i++)
        JS_OK(&world,
              nats_stream_create(&world.js, &config, js_on_stream, &done, &world.scene.err));
    JS_OK(&world, nats_stream_ensure(&world.js, &config, js_on_stream, &done, &world.scene.err));
    js_scene_end(&world);
}

TEST(a_stream_that_differs_is_refused_by_create_and_changed_by_ensure)
{
    struct nats_stream_config config = make_config();
    struct js_outcome outcome;
    struct js_scene world;

    js_scene_begin(&world);
    JS_WAIT(&world, &outcome,
            nats_stream_ensure(&world.js, &config, js_on_stream, &outcome, &world.scene.err));
    CHECK_STR(outcome.error.text, "");
    config.max_msgs = 500;
    config.description = NULL;
    JS_WAIT(&world, &outcome,
            nats_stream_create(&world.js, &config, js_on_stream, &outcome, &world.scene.err));
    CHECK_INT(outcome.error.code, NATS_JS_STREAM_EXISTS);
    JS_WAIT(&world, &outcome,
            nats_stream_ensure(&world.js, &config, js_on_stream, &outcome, &world.scene.err));
    CHECK_STR(outcome.error.text, "");
    config.storage = NATS_STORAGE_FILE;
    JS_WAIT(&world, &outcome,
            nats_stream_ensure(&world.js, &config, js_on_stream, &outcome, &world.scene.err));
    CHECK_INT(outcome.error.fault, NATS_FAULT_REFUSED); /* no server changes that */
    CHECK_HAS(outcome.error.text,
              "stream 'E': 'storage': asked for \"file\", the server has \"memory\": ");
    js_scene_end(&world);
}

TEST(what_a_server_is_too_old_for_is_refused_before_it_is_asked)
{
    struct nats_stream_config config = { .name = "C", .compression = NATS_COMPRESSION_S2 };
    struct js_outcome outcome = { 0 };
    struct js_scene world;
    int result;

    js_scene_begin(&world);
    result = nats_stream_create(&world.js, &config, js_on_stream, &outcome, &world.scene.err);
    if (nats_conn_version(world.conn.conn) < NATS_VERSION(2, 10, 0)) {
        CHECK_INT(result, -1);
        CHECK_STR(world.scene.err.text,
                  "stream 'C': 'compression' requires a server of version 2.10");
    } else {
        SCENE_RUN(&world.scene, outcome.count == 1);
        CHECK_STR(outcome.error.text, "");
    }
    js_scene_end(&world);
}

TEST(messages_are_read_by_sequence_and_by_subject)
{
    struct nats_stream_config config = make_config();
    struct nats_publisher *publisher;
    struct js_outcome outcome;
    struct js_scene world;

    js_scene_begin(&world);
    JS_WAIT(&world, &outcome,
            nats_stream_create(&world.js, &config, js_on_stream, &outcome, &world.scene.err));
    publisher = nats_publisher_new(&world.js, &(struct nats_publisher_options){ 0 });
    for (int i = 0; i < 3; i++)
        JS_OK(&world,
              nats_publisher_send(publisher,
                                  &(struct nats_store){ .subject = i ? STR("e.b") : STR("e.a"),
                                                        .payload = STR("\x01\"x\"") },
                                  js_on_ack, &done, &world.scene.err));
    for (int direct = 0; direct < 2; direct++) {
        JS_WAIT(&world, &outcome,
                nats_stream_get(&world.js, "E",
                                &(struct nats_which){ .last_of = "e.b", .direct = direct },
                                js_on_stored, &outcome, &world.scene.err));
        CHECK_STR(outcome.error.text, "");
        CHECK_INT(outcome.seq, 3);
        CHECK_STR(outcome.payload, "e.b=\x01\"x\"");
        JS_WAIT(&world, &outcome,
                nats_stream_get(&world.js, "E", &(struct nats_which){ .seq = 1, .direct = direct },
                                js_on_stored, &outcome, &world.scene.err));
        CHECK_STR(outcome.payload, "e.a=\x01\"x\"");
        JS_WAIT(&world, &outcome,
                nats_stream_get(&world.js, "E",
                                &(struct nats_which){ .last_of = "e.none", .direct = direct },
                                js_on_stored, &outcome, &world.scene.err));
        CHECK_INT(outcome.error.fault, NATS_FAULT_NOT_FOUND);
        CHECK_INT(outcome.error.code, NATS_JS_MESSAGE_NOT_FOUND);
    }
    nats_publisher_free(publisher);
    js_scene_end(&world);
}

TEST(purging_and_deleting_do_what_they_say)
{
    struct nats_publisher *publisher;
    struct js_outcome outcome;
    struct js_scene world;

    js_scene_begin(&world);
    js_make_stream(&world, "P", "p.>");
    publisher = nats_publisher_new(&world.js, &(struct nats_publisher_options){ 0 });
    for (int i = 0; i < 10; i++)
        JS_OK(&world,
              nats_publisher_send(
                  publisher, &(struct nats_store){ .subject = i % 2 ? STR("p.a") : STR("p.b") },
                  js_on_ack, &done, &world.scene.err));
    JS_OK(&world,
          nats_stream_purge(&world.js, "P", &(struct nats_purge){ .subject = "p.a", .keep = 2 },
                            js_on_done, &done, &world.scene.err));
    JS_WAIT(&world, &outcome,
            nats_stream_info(&world.js, "P", js_on_stream, &outcome, &world.scene.err));
    CHECK_INT(outcome.messages, 7);
    JS_OK(&world, nats_stream_purge(&world.js, "P", &(struct nats_purge){ .below = 10 }, js_on_done,
                                    &done, &world.scene.err));
    JS_WAIT(&world, &outcome,
            nats_stream_info(&world.js, "P", js_on_stream, &outcome, &world.scene.err));
    CHECK_INT(outcome.messages, 1);
    JS_OK(&world, nats_stream_delete(&world.js, "P", js_on_done, &done, &world.scene.err));
    JS_WAIT(&world, &outcome,
            nats_stream_info(&world.js, "P", js_on_stream, &outcome, &world.scene.err));
    CHECK_INT(outcome.error.fault, NATS_FAULT_NOT_FOUND);
    CHECK_INT(outcome.error.code, NATS_JS_STREAM_NOT_FOUND);
    CHECK_HAS(outcome.error.text, "stream 'P': JetStream: stream not found");
    nats_publisher_free(publisher);
    js_scene_end(&world);
}

static void on_account(void *self, const struct nats_error *error,
                       const struct nats_js_account *account)
{
    struct js_outcome *outcome = self;

    js_outcome_set(outcome, error);
    outcome->messages = account ? account->streams : -1;
}

TEST(the_account_shows_what_is_in_use)
{
    struct js_outcome outcome;
    struct js_scene world;

    js_scene_begin(&world);
    js_make_stream(&world, "A", "a");
    JS_WAIT(&world, &outcome, nats_js_account(&world.js, on_account, &outcome, &world.scene.err));
    CHECK_INT(outcome.messages, 1);
    js_scene_end(&world);
}

TEST(names_that_could_be_subjects_are_refused)
{
    struct js_outcome outcome = { 0 };
    struct js_scene world;

    js_scene_begin(&world);
    CHECK_INT(nats_stream_info(&world.js, "a.b", js_on_stream, &outcome, &world.scene.err), -1);
    CHECK_STR(world.scene.err.text, "stream 'a.b': not a valid name");
    CHECK_INT(nats_stream_delete(&world.js, "*", js_on_done, &outcome, &world.scene.err), -1);
    CHECK_INT(nats_consumer_info(&world.js, "a", "b c", js_on_consumer, &outcome, &world.scene.err),
              -1);
    CHECK_INT(outcome.count, 0);
    js_scene_end(&world);
}
