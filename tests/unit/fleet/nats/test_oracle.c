/* The same operations by our client and by libnats, on one server: each reads what the other wrote,
 * and both say the same about it. */
#include <nats/nats.h>

#include "js_scene.h"
#include "fleet/nats/ack.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/puller.h"

struct oracle {
    natsConnection *conn;
    jsCtx *js;
};

static void oracle_begin(struct oracle *oracle, const char *url)
{
    CHECK_INT(natsConnection_ConnectTo(&oracle->conn, url), NATS_OK);
    CHECK_INT(natsConnection_JetStream(&oracle->js, oracle->conn, NULL), NATS_OK);
}

static void oracle_end(struct oracle *oracle)
{
    jsCtx_Destroy(oracle->js);
    natsConnection_Destroy(oracle->conn);
    nats_Close();
}

TEST(messages_and_headers_look_the_same_to_both)
{
    AUTO_BUF struct buf header = BUF_INIT(NATS_HEADER_MAX);
    natsSubscription *sub = NULL;
    const char *value = NULL;
    natsMsg *msg = NULL;
    struct oracle oracle;
    struct js_scene world;
    struct inbox inbox;

    js_scene_begin(&world);
    oracle_begin(&oracle, world.server.url);
    CHECK_INT(natsConnection_SubscribeSync(&sub, oracle.conn, "to.them"), NATS_OK);
    CHECK_INT(natsConnection_Flush(oracle.conn), NATS_OK);
    CHECK_INT(nats_header_add(&header, "K", STR("v: w"), &world.scene.err), 0);
    CHECK_INT(nats_publish(world.conn.conn,
                           &(struct nats_pub){ .subject = STR("to.them"),
                                               .reply = STR("back"),
                                               .header = buf_view(&header),
                                               .payload = STR("body") },
                           &world.scene.err),
              0);
    flush_conn(&world.scene, world.conn.conn);
    CHECK_INT(natsSubscription_NextMsg(&msg, sub, 5000), NATS_OK);
    CHECK_STR(natsMsg_GetReply(msg), "back");
    CHECK_INT(natsMsg_GetDataLength(msg), 4);
    CHECK_INT(natsMsgHeader_Get(msg, "K", &value), NATS_OK);
    CHECK_STR(value, "v: w");
    natsMsg_Destroy(msg);
    natsSubscription_Destroy(sub);
    (void)inbox_open(world.conn.conn, &inbox, "to.us", NULL);
    flush_conn(&world.scene, world.conn.conn);
    CHECK_INT(natsConnection_PublishString(oracle.conn, "to.us", "hello"), NATS_OK);
    CHECK_INT(natsConnection_Flush(oracle.conn), NATS_OK);
    SCENE_RUN(&world.scene, inbox.count == 1);
    CHECK_STR(buf_text(&inbox.text), "to.us=hello ");
    buf_done(&inbox.text);
    oracle_end(&oracle);
    js_scene_end(&world);
}

TEST(a_stream_that_we_made_is_what_they_see)
{
    static const char *const subjects[] = { "o.>" };
    jsStreamInfo *info = NULL;
    jsPubAck *ack = NULL;
    struct oracle oracle;
    struct js_scene world;
    struct js_outcome outcome;

    js_scene_begin(&world);
    oracle_begin(&oracle, world.server.url);
    JS_OK(&world, nats_stream_create(&world.js,
                                     &(struct nats_stream_config){
                                         .name = "O",
                                         .subjects = { subjects, 1 },
                                         .retention = NATS_RETENTION_WORKQUEUE,
                                         .storage = NATS_STORAGE_MEMORY,
                                         .discard = NATS_DISCARD_NEW,
                                         .max_msgs = 77,
                                         .max_age = 9 * CLOCK_SECOND,
                                         .duplicate_window = 3 * CLOCK_SECOND,
                                         .allow_direct = true,
                                     },
                                     js_on_stream, &done, &world.scene.err));
    CHECK_INT(js_GetStreamInfo(&info, oracle.js, "O", NULL, NULL), NATS_OK);
    CHECK_INT(info->Config->Retention, js_WorkQueuePolicy);
    CHECK_INT(info->Config->Storage, js_MemoryStorage);
    CHECK_INT(info->Config->Discard, js_DiscardNew);
    CHECK_INT(info->Config->MaxMsgs, 77);
    CHECK_INT(info->Config->MaxAge, 9 * CLOCK_SECOND);
    CHECK_INT(info->Config->Duplicates, 3 * CLOCK_SECOND);
    CHECK(info->Config->AllowDirect);
    jsStreamInfo_Destroy(info);
    CHECK_INT(js_Publish(&ack, oracle.js, "o.1", "x", 1, NULL, NULL), NATS_OK);
    CHECK_INT(ack->Sequence, 1);
    jsPubAck_Destroy(ack);
    JS_WAIT(&world, &outcome,
            nats_stream_info(&world.js, "O", js_on_stream, &outcome, &world.scene.err));
    CHECK_INT(outcome.messages, 1);
    oracle_end(&oracle);
    js_scene_end(&world);
}

TEST(ids_and_expected_sequences_mean_the_same_to_both)
{
    struct nats_publisher *publisher;
    struct js_outcome outcome;
    struct oracle oracle;
    struct js_scene world;
    jsPubOptions options;
    jsPubAck *ack = NULL;
    jsErrCode code = 0;

    js_scene_begin(&world);
    oracle_begin(&oracle, world.server.url);
    js_make_stream(&world, "S", "s.>");
    publisher = nats_publisher_new(&world.js, &(struct nats_publisher_options){ 0 });
    JS_WAIT(&world, &outcome,
            nats_publisher_send(publisher,
                                &(struct nats_store){ .subject = STR("s.a"), .id = STR("i") },
                                js_on_ack, &outcome, &world.scene.err));
    CHECK_INT(outcome.seq, 1);
    CHECK_INT(jsPubOptions_Init(&options), NATS_OK);
    options.MsgId = "i";
    CHECK_INT(js_Publish(&ack, oracle.js, "s.a", "", 0, &options, &code), NATS_OK);
    CHECK(ack->Duplicate && ack->Sequence == 1);
    jsPubAck_Destroy(ack);
    CHECK_INT(jsPubOptions_Init(&options), NATS_OK);
    options.ExpectLastSeq = 5;
    CHECK(js_Publish(NULL, oracle.js, "s.a", "", 0, &options, &code) != NATS_OK);
    CHECK_INT(code, NATS_JS_WRONG_LAST_SEQUENCE);
    JS_WAIT(&world, &outcome,
            nats_publisher_send(publisher,
                                &(struct nats_store){ .subject = STR("s.a"), .expect_last_seq = 5 },
                                js_on_ack, &outcome, &world.scene.err));
    CHECK_INT(outcome.error.code, (int)code);
    nats_publisher_free(publisher);
    oracle_end(&oracle);
    js_scene_end(&world);
}

static void on_their_message(void *self, const struct nats_msg *msg)
{
    struct buf *text = self;
    struct nats_delivery delivery;

    CHECK(nats_delivery_parse(msg->reply, &delivery));
    buf_printf(text, "%llu/%llu:%.*s ", (unsigned long long)delivery.stream_seq,
               (unsigned long long)delivery.deliveries, STR_ARG(msg->payload));
}

TEST(a_consumer_is_shared_with_them_and_deliveries_are_counted_alike)
{
    AUTO_BUF struct buf text = BUF_INIT(1000);
    natsSubscription *sub = NULL;
    struct nats_puller *puller;
    jsMsgMetaData *meta = NULL;
    natsMsgList list;
    struct oracle oracle;
    struct js_scene world;
    jsSubOptions options;

    js_scene_begin(&world);
    oracle_begin(&oracle, world.server.url);
    js_make_stream(&world, "S", "s.>");
    JS_OK(&world,
          nats_consumer_ensure(&world.js, "S",
                               &(struct nats_consumer_config){ .name = "c", .durable = true },
                               js_on_consumer, &done, &world.scene.err));
    CHECK_INT(js_Publish(NULL, oracle.js, "s.a", "one", 3, NULL, NULL), NATS_OK);
    CHECK_INT(js_Publish(NULL, oracle.js, "s.a", "two", 3, NULL, NULL), NATS_OK);
    CHECK_INT(jsSubOptions_Init(&options), NATS_OK);
    options.Stream = "S";
    options.Consumer = "c";
    CHECK_INT(js_PullSubscribe(&sub, oracle.js, "s.>", "c", NULL, &options, NULL), NATS_OK);
    CHECK_INT(natsSubscription_Fetch(&list, sub, 2, 5000, NULL), NATS_OK);
    CHECK_INT(list.Count, 2);
    CHECK_INT(natsMsg_GetMetaData(&meta, list.Msgs[1]), NATS_OK);
    CHECK_INT(meta->Sequence.Stream, 2);
    jsMsgMetaData_Destroy(meta);
    CHECK_INT(natsMsg_Ack(list.Msgs[0], NULL), NATS_OK);
    CHECK_INT(natsMsg_Nak(list.Msgs[1], NULL), NATS_OK);
    natsMsgList_Destroy(&list);
    CHECK_INT(natsConnection_Flush(oracle.conn), NATS_OK);
    natsSubscription_Destroy(sub);
    puller = nats_puller_new(
        &world.js,
        &(struct nats_puller_options){
            .stream = "S", .consumer = "c", .message = on_their_message, .self = &text },
        &world.scene.err);
    SCENE_RUN(&world.scene, text.n > 0);
    CHECK_STR(buf_text(&text), "2/2:two "); /* once to them, once to us */
    nats_puller_free(puller);
    oracle_end(&oracle);
    js_scene_end(&world);
}

struct kv_answer {
    int count;
    struct nats_error error;
    uint64_t revision;
    char value[64];
};

static void on_revision(void *self, const struct nats_error *error, uint64_t revision)
{
    struct kv_answer *answer = self;

    answer->count++;
    answer->error = error ? *error : (struct nats_error){ .text = "" };
    answer->revision = revision;
}

static void on_entry(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct kv_answer *answer = self;

    on_revision(self, error, entry ? entry->revision : 0);
    if (entry)
        (void)snprintf(answer->value, sizeof(answer->value), "%.*s", STR_ARG(entry->value));
}

#define ANSWER(world, answer, call)                                                                \
    do {                                                                                           \
        *(answer) = (struct kv_answer){ 0 };                                                       \
        CHECK_INT(call, 0);                                                                        \
        SCENE_RUN(&(world)->scene, (answer)->count == 1);                                          \
    } while (0)

TEST(a_bucket_is_used_by_both)
{
    struct kv_answer answer;
    struct oracle oracle;
    struct js_scene world;
    struct nats_kv kv;
    kvStore *theirs = NULL;
    kvEntry *entry = NULL;
    kvKeysList keys;
    uint64_t revision;
    struct err *err;

    js_scene_begin(&world);
    err = &world.scene.err;
    oracle_begin(&oracle, world.server.url);
    JS_OK(&world, nats_kv_ensure(&world.js, &(struct nats_kv_config){ .bucket = "b", .history = 4 },
                                 js_on_done, &done, err));
    kv = (struct nats_kv){ .js = world.js, .bucket = "b" };
    CHECK_INT(js_KeyValue(&theirs, oracle.js, "b"), NATS_OK);
    ANSWER(&world, &answer, nats_kv_put(&kv, "ours", STR("1"), on_revision, &answer, err));
    CHECK_INT(kvStore_Get(&entry, theirs, "ours"), NATS_OK);
    CHECK_STR(kvEntry_ValueString(entry), "1");
    CHECK_INT(kvEntry_Revision(entry), answer.revision);
    kvEntry_Destroy(entry);
    CHECK_INT(kvStore_PutString(&revision, theirs, "theirs", "2"), NATS_OK);
    ANSWER(&world, &answer, nats_kv_get(&kv, "theirs", on_entry, &answer, err));
    CHECK_STR(answer.value, "2");
    CHECK_INT(answer.revision, revision);
    CHECK_INT(kvStore_UpdateString(&revision, theirs, "theirs", "3", revision), NATS_OK);
    ANSWER(&world, &answer,
           nats_kv_update(&kv, "theirs", STR("4"), revision - 1, on_revision, &answer, err));
    CHECK_INT(answer.error.fault, NATS_FAULT_CONFLICT);
    CHECK(kvStore_UpdateString(NULL, theirs, "theirs", "4", revision - 1) != NATS_OK);
    CHECK_INT(kvStore_Delete(theirs, "theirs"), NATS_OK);
    ANSWER(&world, &answer, nats_kv_get(&kv, "theirs", on_entry, &answer, err));
    CHECK_INT(answer.error.fault, NATS_FAULT_NOT_FOUND);
    ANSWER(&world, &answer, nats_kv_create(&kv, "theirs", STR("5"), on_revision, &answer, err));
    CHECK_STR(answer.error.text, "");
    ANSWER(&world, &answer, nats_kv_delete(&kv, "ours", 0, on_revision, &answer, err));
    CHECK_INT(kvStore_Get(&entry, theirs, "ours"), NATS_NOT_FOUND);
    CHECK_INT(kvStore_Keys(&keys, theirs, NULL), NATS_OK);
    CHECK_INT(keys.Count, 1);
    CHECK_STR(keys.Keys[0], "theirs");
    kvKeysList_Destroy(&keys);
    kvStore_Destroy(theirs);
    oracle_end(&oracle);
    js_scene_end(&world);
}
