#include "fleet/bus/store.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/number.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/nats/cluster.h"
#include "fleet/nats/js_scene.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/subject.h"
#include "test.h"

#define HOUR (INT64_C(3600) * 1000000000)

/* What became of store_ensure. */
struct ensured {
    int count;
    size_t problem_count;
    struct buf text; /* problems, one a line */
};

static void on_ready(void *self, const struct store_result *result)
{
    struct ensured *ensured = self;

    ensured->count++;
    ensured->problem_count = result->problem_count;
    for (size_t i = 0; i < result->problem_count; i++)
        buf_printf(&ensured->text, "%s\n", result->problems[i]);
}

static void ensure_by(struct scene *scene, const struct nats_js *js,
                      const struct store_options *options, struct ensured *ret)
{
    *ret = (struct ensured){ .text = BUF_INIT(1 << 16) };
    CHECK_INT(store_ensure(js, options, on_ready, ret, &scene->err), 0);
    SCENE_RUN(scene, ret->count == 1);
}

static void ensure(struct scene *scene, const struct nats_js *js, int64_t replicas,
                   struct ensured *ret)
{
    ensure_by(scene, js, &(struct store_options){ .replicas = replicas }, ret);
}

static void ensure_well(struct scene *scene, const struct nats_js *js)
{
    struct ensured ensured;

    ensure(scene, js, 0, &ensured);
    CHECK_STR(buf_text(&ensured.text), "");
    buf_done(&ensured.text);
}

/* The configuration of a stream or consumer, some of its keys as "key=value ...". */
struct shown {
    int count;
    const char *keys;
    struct buf text;
};

static void show_config(struct shown *shown, const struct nats_error *error,
                        const struct value *config)
{
    struct str rest = str_from(shown->keys);
    struct err err;

    if (error)
        print_error("%s\n", error->text);
    CHECK(error == NULL);
    while (rest.p) {
        struct str key = str_cut(&rest, ' ');
        const struct value *v = value_get_str(config, key);

        buf_printf(&shown->text, "%s%.*s=", shown->text.n > 0 ? " " : "", STR_ARG(key));
        if (v)
            CHECK_INT(json_print(&shown->text, v, JSON_STYLE_COMPACT, &err), 0);
    }
    shown->count++;
}

static void on_stream(void *self, const struct nats_error *error,
                      const struct nats_stream_info *info)
{
    show_config(self, error, info ? info->config : NULL);
}

static void on_consumer(void *self, const struct nats_error *error,
                        const struct nats_consumer_info *info)
{
    show_config(self, error, info ? info->config : NULL);
}

static void check_config(struct js_scene *world, const char *stream, const char *consumer,
                         const char *keys, const char *expected)
{
    struct shown shown = { .keys = keys, .text = BUF_INIT(4096) };
    struct err *err = &world->scene.err;

    if (consumer)
        CHECK_INT(nats_consumer_info(&world->js, stream, consumer, on_consumer, &shown, err), 0);
    else
        CHECK_INT(nats_stream_info(&world->js, stream, on_stream, &shown, err), 0);
    SCENE_RUN(&world->scene, shown.count == 1);
    CHECK_STR(buf_text(&shown.text), expected);
    buf_done(&shown.text);
}

#define BUCKET_KEYS                                                                                \
    "max_msgs_per_subject max_age duplicate_window storage discard deny_delete allow_direct "      \
    "num_replicas"

static const struct {
    const char *stream, *consumer, *keys, *expected;
} configs[] = {
    { "events", NULL,
      "retention discard max_age max_bytes max_msgs duplicate_window storage num_replicas "
      "allow_direct description subjects",
      "retention=\"limits\" discard=\"old\" max_age=604800000000000 max_bytes=1073741824 "
      "max_msgs=1000000 duplicate_window=120000000000 storage=\"file\" num_replicas=1 "
      "allow_direct=false description=\"Reactor event log\" subjects=[\"zester.event.>\"]" },
    { "job-events", NULL, "max_age max_bytes max_msgs duplicate_window description subjects",
      "max_age=604800000000000 max_bytes=2147483648 max_msgs=-1 duplicate_window=120000000000 "
      "description=\"Full job event log for replay and audit\" subjects=[\"zester.job.>\"]" },
    { "events", "reactor",
      "durable_name description deliver_policy ack_policy ack_wait max_deliver filter_subject "
      "replay_policy max_ack_pending",
      "durable_name=\"reactor\" description=\"Zester reactor event consumer\" "
      "deliver_policy=\"new\" ack_policy=\"explicit\" ack_wait=60000000000 max_deliver=5 "
      "filter_subject=\"zester.event.>\" replay_policy=\"instant\" max_ack_pending=64" },
    { "job-events", "schedule-results", "ack_policy ack_wait max_deliver filter_subject",
      "ack_policy=\"explicit\" ack_wait=30000000000 max_deliver=5 "
      "filter_subject=\"zester.job.*.schedule.*\"" },
    { "KV_facts", NULL, BUCKET_KEYS " description",
      "max_msgs_per_subject=5 max_age=0 duplicate_window=120000000000 storage=\"file\" "
      "discard=\"new\" deny_delete=true allow_direct=true num_replicas=1 "
      "description=\"Peel fact data (system information)\"" },
    { "KV_enroll-challenges", NULL, BUCKET_KEYS,
      "max_msgs_per_subject=1 max_age=300000000000 duplicate_window=120000000000 "
      "storage=\"memory\" discard=\"new\" deny_delete=true allow_direct=true num_replicas=1" },
    { "KV_reactor-files", NULL, BUCKET_KEYS,
      "max_msgs_per_subject=3 max_age=0 duplicate_window=120000000000 storage=\"file\" "
      "discard=\"new\" deny_delete=true allow_direct=true num_replicas=1" },
    { "KV_basket", NULL, "max_bytes max_msg_size discard allow_rollup_hdrs",
      "max_bytes=536870912 max_msg_size=66560 discard=\"new\" allow_rollup_hdrs=false" },
    { "KV_job-returns", NULL, "max_bytes discard", "max_bytes=2147483648 discard=\"old\"" },
    { "KV_leases", NULL, BUCKET_KEYS,
      "max_msgs_per_subject=1 max_age=15000000000 duplicate_window=15000000000 storage=\"file\" "
      "discard=\"new\" deny_delete=true allow_direct=true num_replicas=1" },
    { "OBJ_files", NULL, "storage num_replicas", "storage=\"file\" num_replicas=1" },
};

TEST(everything_is_made_with_the_parameters_that_other_masters_use)
{
    struct js_scene world;

    js_scene_begin_on(&world, "64GB"); /* whatever disk there is: limits are not halved */
    ensure_well(&world.scene, &world.js);
    for (size_t i = 0; i < ARRAY_LEN(configs); i++)
        check_config(&world, configs[i].stream, configs[i].consumer, configs[i].keys,
                     configs[i].expected);
    for (int i = 0; i < STORE_BUCKETS; i++) {
        char stream[64], history[64];

        (void)snprintf(stream, sizeof(stream), "KV_%s", store_bucket_name((enum store_bucket)i));
        (void)snprintf(history, sizeof(history), "max_age=%lld",
                       (long long)store_bucket_ttl((enum store_bucket)i));
        check_config(&world, stream, NULL, "max_age", history);
    }
    js_scene_end(&world);
}

#define SECONDS_TTL(n) ((n)*INT64_C(1000000000))

TEST(every_documented_bucket_has_its_history_its_life_and_its_description)
{
    static const struct {
        const char *bucket;
        int history;
        int64_t ttl;
        const char *description;
    } documented[] = {
        { "facts", 5, 0, "Peel fact data (system information)" },
        { "settings-files", 3, 0, "Raw .zy template files for peel-side rendering" },
        { "secrets", 3, 0, "Per-peel encrypted sensitive values" },
        { "basket", 1, 0, "Peel-to-peel data sharing" },
        { "jobs", 10, SECONDS_TTL(604800), "Job specs and status tracking" },
        { "job-returns", 1, SECONDS_TTL(604800), "Per-peel job execution results" },
        { "master-heartbeat", 1, SECONDS_TTL(15),
          "Master instance heartbeats for liveness detection" },
        { "peel-heartbeat", 1, SECONDS_TTL(30), "Peel liveness heartbeats" },
        { "leases", 1, SECONDS_TTL(15), "Advisory leader leases for single-publisher work" },
        { "enrollments", 10, 0, "Peel enrollment records and state" },
        { "enroll-challenges", 1, SECONDS_TTL(300), "Short-lived enrollment challenge nonces" },
        { "state-files", 3, 0, "Raw .zy state files for peel-side caching" },
        { "reactor-files", 3, 0, "Reactor rule files (master-only; no peel JWT grants)" },
        { "master-settings", 1, 0, NULL },
        { "update-manifests", 5, 0, NULL },
        { "update-status", 1, SECONDS_TTL(60), NULL },
        { "update-rollouts", 10, 0, NULL },
    };
    struct js_scene world;

    js_scene_begin(&world);
    ensure_well(&world.scene, &world.js);
    for (size_t i = 0; i < ARRAY_LEN(documented); i++) {
        char stream[64], numbers[256];

        (void)snprintf(stream, sizeof(stream), "KV_%s", documented[i].bucket);
        (void)snprintf(numbers, sizeof(numbers), "max_msgs_per_subject=%d max_age=%lld",
                       documented[i].history, (long long)documented[i].ttl);
        check_config(&world, stream, NULL, "max_msgs_per_subject max_age", numbers);
        if (!documented[i].description)
            continue;
        (void)snprintf(numbers, sizeof(numbers), "description=\"%s\"", documented[i].description);
        check_config(&world, stream, NULL, "description", numbers);
    }
    js_scene_end(&world);
}

/* Every stream has a limit; returns the sum. */
static int64_t sum_limits(struct js_scene *world)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    int64_t sum = 0;

    for (int i = 0; i < STORE_BUCKETS; i++) {
        struct shown shown = { .keys = "max_bytes", .text = BUF_INIT(4096) };
        const char *name = arena_printf(&arena, "KV_%s", store_bucket_name((enum store_bucket)i));
        struct str text;
        int64_t bytes;

        CHECK_INT(nats_stream_info(&world->js, name, on_stream, &shown, &world->scene.err), 0);
        SCENE_RUN(&world->scene, shown.count == 1);
        text = buf_view(&shown.text);
        (void)str_cut(&text, '=');
        CHECK_INT(number_parse_int(text, &bytes, &world->scene.err), 0);
        CHECK(bytes > 0);
        sum += bytes;
        buf_done(&shown.text);
    }
    return sum;
}

TEST(limits_follow_an_explicit_total_and_stay_without_one)
{
    struct js_scene world;
    struct ensured ensured;

    js_scene_begin(&world);
    ensure_well(&world.scene, &world.js);
    CHECK(sum_limits(&world) < STORE_BYTES_DEFAULT);
    for (int i = 0; i < 2; i++) {
        ensure_by(&world.scene, &world.js,
                  &(struct store_options){ .max_bytes = i == 0 ? INT64_C(1) << 30 : 0 }, &ensured);
        CHECK_STR(buf_text(&ensured.text), "");
        buf_done(&ensured.text);
        CHECK(sum_limits(&world) < INT64_C(1) << 30);
        check_config(&world, "events", NULL, "max_bytes", "max_bytes=67108864");
        check_config(&world, "OBJ_files", NULL, "max_bytes", "max_bytes=134217728");
    }
    js_scene_end(&world);
}

TEST(a_server_that_has_less_gets_smaller_limits)
{
    struct js_scene world;
    struct ensured ensured;

    js_scene_begin_on(&world, "3GB");
    ensure_well(&world.scene, &world.js);
    check_config(&world, "events", NULL, "max_bytes", "max_bytes=134217728");
    check_config(&world, "job-events", NULL, "max_bytes", "max_bytes=268435456");
    CHECK(sum_limits(&world) < INT64_C(2) << 30);
    ensure_by(&world.scene, &world.js, &(struct store_options){ .max_bytes = INT64_C(8) << 30 },
              &ensured);
    CHECK_HAS(buf_text(&ensured.text), "insufficient storage resources");
    buf_done(&ensured.text);
    js_scene_end(&world);
}

static void on_revision(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)revision;
    js_on_done(self, error);
}

TEST(a_stream_without_a_limit_gets_one_that_has_room_for_what_is_in_it)
{
    static char payload[500000];
    struct js_scene world;
    struct js_outcome outcome = { 0 };
    struct nats_kv kv = { .bucket = "basket" };
    struct ensured ensured;

    js_scene_begin(&world);
    kv.js = world.js;
    CHECK_INT(nats_kv_ensure(&world.js, &(struct nats_kv_config){ .bucket = "basket" }, js_on_done,
                             &outcome, &world.scene.err),
              0);
    SCENE_RUN(&world.scene, outcome.count == 1);
    for (int i = 0; i < 20; i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct js_outcome put = { 0 };

        CHECK_INT(nats_kv_put(&kv, arena_printf(&arena, "web-01.%d", i),
                              (struct str){ payload, sizeof(payload) }, on_revision, &put,
                              &world.scene.err),
                  0);
        SCENE_RUN(&world.scene, put.count == 1);
    }
    ensure_by(&world.scene, &world.js, &(struct store_options){ .max_bytes = STORE_BYTES_MIN },
              &ensured);
    CHECK_STR(buf_text(&ensured.text), "");
    buf_done(&ensured.text);
    check_config(&world, "KV_basket", NULL, "max_bytes", "max_bytes=20001980");
    js_scene_end(&world);
}

TEST(a_bus_that_has_too_much_for_its_limits_goes_on_without_some)
{
    static char payload[900000];
    struct js_scene world;
    struct js_outcome outcome = { 0 };
    struct nats_kv kv = { .bucket = "basket" };

    js_scene_begin_on(&world, "300MB");
    kv.js = world.js;
    CHECK_INT(nats_kv_ensure(&world.js, &(struct nats_kv_config){ .bucket = "basket" }, js_on_done,
                             &outcome, &world.scene.err),
              0);
    SCENE_RUN(&world.scene, outcome.count == 1);
    for (int i = 0; i < 70; i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct js_outcome put = { 0 };

        CHECK_INT(nats_kv_put(&kv, arena_printf(&arena, "web-01.%d", i),
                              (struct str){ payload, sizeof(payload) }, on_revision, &put,
                              &world.scene.err),
                  0);
        SCENE_RUN(&world.scene, put.count == 1);
    }
    ensure_well(&world.scene, &world.js);
    check_config(&world, "KV_enrollments", NULL, "max_bytes", "max_bytes=4194304");
    CHECK_INT(nats_stream_info(&world.js, "KV_basket", js_on_stream, &outcome, &world.scene.err),
              0);
    SCENE_RUN(&world.scene, outcome.count == 2);
    CHECK_INT(outcome.messages, 70);
    js_scene_end(&world);
}

TEST(a_second_time_changes_nothing)
{
    struct js_scene world;
    struct inbox advisories;
    struct nats_sub *sub;

    js_scene_begin(&world);
    ensure_well(&world.scene, &world.js);
    sub = inbox_open(world.conn.conn, &advisories, "$JS.EVENT.ADVISORY.STREAM.>", NULL);
    flush_conn(&world.scene, world.conn.conn);
    ensure_well(&world.scene, &world.js);
    flush_conn(&world.scene, world.conn.conn);
    CHECK_STR(buf_text(&advisories.text), "");
    nats_sub_free(sub);
    buf_done(&advisories.text);
    js_scene_end(&world);
}

TEST(what_differs_is_changed_back)
{
    struct js_scene world;
    struct js_outcome outcome = { 0 };

    js_scene_begin(&world);
    ensure_well(&world.scene, &world.js);
    CHECK_INT(nats_kv_ensure(
                  &world.js,
                  &(struct nats_kv_config){ .bucket = "jobs", .description = "mine", .ttl = HOUR },
                  js_on_done, &outcome, &world.scene.err),
              0);
    SCENE_RUN(&world.scene, outcome.count == 1);
    check_config(&world, "KV_jobs", NULL, "description max_age",
                 "description=\"mine\" max_age=3600000000000");
    ensure_well(&world.scene, &world.js);
    check_config(&world, "KV_jobs", NULL, "description max_age max_msgs_per_subject",
                 "description=\"Job specs and status tracking\" max_age=604800000000000 "
                 "max_msgs_per_subject=10");
    js_scene_end(&world);
}

TEST(what_cannot_be_changed_is_reported_with_both_values)
{
    static const char *const subjects[] = { "zester.event.>" };
    struct js_scene world;
    struct js_outcome outcome = { 0 };
    struct ensured ensured;

    js_scene_begin(&world);
    CHECK_INT(nats_stream_ensure(&world.js,
                                 &(struct nats_stream_config){ .name = "events",
                                                               .subjects = { subjects, 1 },
                                                               .storage = NATS_STORAGE_MEMORY },
                                 js_on_stream, &outcome, &world.scene.err),
              0);
    SCENE_RUN(&world.scene, outcome.count == 1);
    CHECK_INT(nats_consumer_ensure(&world.js, "events",
                                   &(struct nats_consumer_config){ .name = "reactor",
                                                                   .durable = true,
                                                                   .deliver = NATS_DELIVER_ALL },
                                   js_on_consumer, &outcome, &world.scene.err),
              0);
    SCENE_RUN(&world.scene, outcome.count == 2);
    ensure(&world.scene, &world.js, 0, &ensured);
    CHECK_INT(ensured.problem_count, 2);
    CHECK(strstr(buf_text(&ensured.text),
                 "'storage': asked for \"file\", the server has \"memory\""));
    CHECK(strstr(buf_text(&ensured.text), "stream 'events': "));
    CHECK(strstr(buf_text(&ensured.text), "consumer 'reactor' of stream 'events': "));
    CHECK(strstr(buf_text(&ensured.text),
                 "'deliver_policy': asked for \"new\", the server has \"all\""));
    buf_done(&ensured.text);
    js_scene_end(&world);
}

static void count_message(void *self, const struct nats_msg *msg)
{
    (void)msg;
    (*(int *)self)++;
}

TEST(what_is_there_as_it_should_be_is_left_alone)
{
    struct js_scene world;
    struct nats_sub *changes;
    int made = 0;

    js_scene_begin(&world);
    changes =
        nats_sub_new(world.js.conn,
                     &(struct nats_sub_options){ .subject = "$JS.API.CONSUMER.DURABLE.CREATE.>",
                                                 .message = count_message,
                                                 .self = &made },
                     &world.scene.err);
    CHECK(changes);
    ensure_well(&world.scene, &world.js);
    SCENE_RUN(&world.scene, made == 4);
    ensure_well(&world.scene, &world.js);
    CHECK_INT(made, 4);
    nats_sub_free(changes);
    js_scene_end(&world);
}

TEST(a_comparison_says_what_is_missing_or_differs_and_changes_nothing)
{
    struct js_scene world;
    struct js_outcome outcome = { 0 };
    struct ensured ensured;

    js_scene_begin(&world);
    ensure_well(&world.scene, &world.js);
    ensure_by(&world.scene, &world.js, &(struct store_options){ .only_compare = true }, &ensured);
    CHECK_STR(buf_text(&ensured.text), "");
    buf_done(&ensured.text);
    CHECK_INT(nats_stream_delete(&world.js, "job-events", js_on_done, &outcome, &world.scene.err),
              0);
    CHECK_INT(nats_kv_ensure(
                  &world.js,
                  &(struct nats_kv_config){ .bucket = "facts",
                                            .description = "Peel fact data (system information)",
                                            .history = 7 },
                  js_on_done, &outcome, &world.scene.err),
              0);
    SCENE_RUN(&world.scene, outcome.count == 2);
    for (int i = 0; i < 2; i++) {
        ensure_by(&world.scene, &world.js, &(struct store_options){ .only_compare = true },
                  &ensured);
        CHECK_HAS(buf_text(&ensured.text), "stream 'job-events': JetStream: stream not found");
        CHECK_HAS(buf_text(&ensured.text), "'max_msgs_per_subject': asked for 5, the server has 7");
        CHECK_HAS(buf_text(&ensured.text),
                  "stream 'KV_facts': 'max_bytes': asked for 1073741824, the server has -1");
        CHECK_HAS(buf_text(&ensured.text), "consumer 'late-returns' of stream 'job-events'");
        buf_done(&ensured.text);
    }
    js_scene_end(&world);
}

/* Hands requests to the server on, but none that makes a stream the first time. */
struct deaf {
    struct nats_conn *conn;
    struct nats_sub *sub;
    struct buf ignored; /* subjects, each with a blank after it */
};

static void on_request(void *self, const struct nats_msg *msg)
{
    struct deaf *deaf = self;
    AUTO_BUF struct buf subject = BUF_INIT(512);
    struct err err;

    buf_printf(&subject, "%.*s ", (int)msg->subject.n, msg->subject.p);
    if (strstr(buf_text(&subject), ".CREATE.") &&
        !strstr(buf_text(&deaf->ignored), buf_text(&subject))) {
        buf_add_str(&deaf->ignored, buf_view(&subject));
        return;
    }
    buf_clear(&subject);
    buf_printf(&subject, "$JS.%.*s", (int)msg->subject.n, msg->subject.p);
    CHECK_INT(nats_publish(deaf->conn,
                           &(struct nats_pub){ .subject = buf_view(&subject),
                                               .reply = msg->reply,
                                               .payload = msg->payload },
                           &err),
              0);
}

TEST(what_a_server_does_not_answer_is_asked_again_and_is_no_problem)
{
    struct js_scene world;
    struct deaf deaf = { .ignored = BUF_INIT(BUF_NO_LIMIT) };
    struct nats_js js;

    js_scene_begin(&world);
    deaf.conn = world.js.conn;
    deaf.sub = nats_sub_new(
        deaf.conn,
        &(struct nats_sub_options){ .subject = "API.>", .message = on_request, .self = &deaf },
        &world.scene.err);
    CHECK(deaf.sub);
    js = world.js;
    js.prefix = "API";
    ensure_well(&world.scene, &js);
    CHECK_HAS(buf_text(&deaf.ignored), "API.STREAM.CREATE.KV_facts ");
    CHECK_HAS(buf_text(&deaf.ignored), "API.STREAM.CREATE.KV_tree-history ");
    nats_sub_free(deaf.sub);
    buf_done(&deaf.ignored);
    js_scene_end(&world);
}

TEST(more_replicas_than_servers_are_reported_when_they_were_asked_for)
{
    struct js_scene world;
    struct ensured ensured;
    struct err err;

    js_scene_begin(&world);
    ensure(&world.scene, &world.js, 3, &ensured);
    CHECK(ensured.problem_count > STORE_BUCKETS);
    CHECK(strstr(buf_text(&ensured.text), "replicas"));
    buf_done(&ensured.text);
    CHECK_INT(
        store_ensure(&world.js, &(struct store_options){ .replicas = 6 }, on_ready, NULL, &err),
        -1);
    CHECK(strstr(err.text, "not 6"));
    js_scene_end(&world);
}

static void on_replicas(void *self, const struct nats_error *error,
                        const struct nats_stream_info *info)
{
    CHECK(error == NULL);
    *(int64_t *)self = nats_js_number(info->reply, "config.num_replicas", -1);
}

static int64_t count_replicas(struct scene *scene, const struct nats_js *js, const char *stream)
{
    int64_t replicas = 0;

    CHECK_INT(nats_stream_info(js, stream, on_replicas, &replicas, &scene->err), 0);
    SCENE_RUN(scene, replicas != 0);
    return replicas;
}

TEST(a_cluster_of_three_keeps_three_copies_also_while_a_server_is_down)
{
    struct cluster cluster;
    struct scene scene;
    struct watched conn;
    struct nats_js js;
    struct server *other;

    cluster_start(&cluster, "");
    scene_begin(&scene);
    watched_connect(&scene, &conn, cluster.servers[0].url);
    js = (struct nats_js){ .conn = conn.conn, .timeout = 3 * CLOCK_SECOND };
    for (struct ensured ensured = { .problem_count = 1 }; ensured.problem_count > 0;) {
        ensure(&scene, &js, 0, &ensured); /* until the cluster has found its leader */
        buf_done(&ensured.text);
    }
    CHECK_INT(count_replicas(&scene, &js, "KV_enrollments"), 3);
    other = &cluster.servers[nats_conn_server(conn.conn)[1] == '2' ? 1 : 2];
    server_stop(other, SIGKILL);
    for (struct ensured ensured = { .problem_count = 1 }; ensured.problem_count > 0;) {
        ensure(&scene, &js, 0, &ensured);
        buf_done(&ensured.text);
    }
    CHECK_INT(count_replicas(&scene, &js, "KV_enrollments"), 3);
    CHECK_INT(count_replicas(&scene, &js, "events"), 3);
    nats_conn_free(conn.conn);
    scene_end(&scene);
    cluster_stop(&cluster);
}

TEST(a_connection_that_ends_meanwhile_is_reported_once)
{
    struct js_scene world;
    struct ensured ensured = { .text = BUF_INIT(1 << 16) };

    js_scene_begin(&world);
    CHECK_INT(
        store_ensure(&world.js, &(struct store_options){ 0 }, on_ready, &ensured, &world.scene.err),
        0);
    nats_conn_free(world.conn.conn);
    world.conn.conn = NULL;
    SCENE_RUN(&world.scene, ensured.count == 1);
    CHECK(ensured.problem_count > 0);
    buf_done(&ensured.text);
    js_scene_end(&world);
}
