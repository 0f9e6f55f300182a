#include "fleet/nats/kv.h"

#include "cluster.h"
#include "js_scene.h"
#include "fleet/nats/kv_layout.h"

struct kv_outcome {
    int count;
    struct nats_error error; /* text "" when it succeeded */
    uint64_t revision;
    char value[256];
};

static void set_outcome(struct kv_outcome *outcome, const struct nats_error *error)
{
    outcome->count++;
    outcome->error = error ? *error : (struct nats_error){ .text = "" };
}

static void on_revision(void *self, const struct nats_error *error, uint64_t revision)
{
    struct kv_outcome *outcome = self;

    set_outcome(outcome, error);
    outcome->revision = revision;
}

static int count_done(const struct kv_outcome *outcomes, size_t count)
{
    int result = 0;

    for (size_t i = 0; i < count; i++)
        result += outcomes[i].count;
    return result;
}

static void on_entry(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct kv_outcome *outcome = self;

    set_outcome(outcome, error);
    if (!entry)
        return;
    outcome->revision = entry->revision;
    CHECK(entry->time > 0);
    (void)snprintf(outcome->value, sizeof(outcome->value), "%.*s=%.*s", STR_ARG(entry->key),
                   STR_ARG(entry->value));
}

#define KV_WAIT(world, outcome, call)                                                              \
    do {                                                                                           \
        *(outcome) = (struct kv_outcome){ 0 };                                                     \
        if ((call) < 0)                                                                            \
            CHECK_STR((world)->scene.err.text, "");                                                \
        SCENE_RUN(&(world)->scene, (outcome)->count == 1);                                         \
    } while (0)

static struct nats_kv begin(struct js_scene *world, int64_t history)
{
    js_scene_begin(world);
    JS_OK(world, nats_kv_ensure(&world->js,
                                &(struct nats_kv_config){
                                    .bucket = "b", .description = "a bucket", .history = history },
                                js_on_done, &done, &world->scene.err));
    return (struct nats_kv){ .js = world->js, .bucket = "b", .history = (unsigned)history };
}

TEST(values_are_put_read_updated_and_deleted)
{
    struct kv_outcome o;
    struct js_scene world;
    struct nats_kv kv = begin(&world, 5);
    struct err *err = &world.scene.err;

    for (int indirect = 0; indirect < 2; indirect++) {
        const char *key = indirect ? "x.y" : "x/z=1";
        uint64_t first;

        kv.indirect = indirect;
        KV_WAIT(&world, &o, nats_kv_get(&kv, key, on_entry, &o, err));
        CHECK_INT(o.error.fault, NATS_FAULT_NOT_FOUND);
        KV_WAIT(&world, &o, nats_kv_put(&kv, key, STR("one"), on_revision, &o, err));
        CHECK_STR(o.error.text, "");
        first = o.revision;
        KV_WAIT(&world, &o, nats_kv_get(&kv, key, on_entry, &o, err));
        CHECK(o.revision == first && strstr(o.value, "=one"));
        KV_WAIT(&world, &o, nats_kv_update(&kv, key, STR("two"), first, on_revision, &o, err));
        CHECK_INT(o.revision, first + 1);
        KV_WAIT(&world, &o, nats_kv_update(&kv, key, STR("three"), first, on_revision, &o, err));
        CHECK_INT(o.error.fault, NATS_FAULT_CONFLICT);
        CHECK_INT(o.error.code, NATS_JS_WRONG_LAST_SEQUENCE);
        CHECK_HAS(o.error.text, "of bucket 'b': JetStream: wrong last sequence");
        KV_WAIT(&world, &o, nats_kv_get_revision(&kv, key, first, on_entry, &o, err));
        CHECK_HAS(o.value, "=one");
        KV_WAIT(&world, &o, nats_kv_get_revision(&kv, "other", first, on_entry, &o, err));
        CHECK_INT(o.error.fault, NATS_FAULT_NOT_FOUND);
        KV_WAIT(&world, &o, nats_kv_delete(&kv, key, first, on_revision, &o, err));
        CHECK_INT(o.error.fault, NATS_FAULT_CONFLICT);
        KV_WAIT(&world, &o, nats_kv_delete(&kv, key, first + 1, on_revision, &o, err));
        CHECK_STR(o.error.text, "");
        KV_WAIT(&world, &o, nats_kv_get(&kv, key, on_entry, &o, err));
        CHECK_INT(o.error.fault, NATS_FAULT_NOT_FOUND);
    }
    js_scene_end(&world);
}

/* --- answers of servers in place of entries ------------------------------------------- */

struct seen {
    int count, answers, deletes;
    size_t bytes;
};

static void on_seen(void *self, const struct nats_kv_entry *entry)
{
    struct seen *seen = self;

    if (!str_starts(entry->key, STR("victim")))
        return;
    seen->count++;
    seen->answers += entry->is_answer;
    seen->deletes += entry->change != NATS_KV_PUT;
    seen->bytes += entry->value.n;
}

static void on_victim(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct kv_outcome *outcome = self;

    set_outcome(outcome, error);
    if (entry)
        CHECK(entry->is_answer && entry->value.n == 0 && entry->change == NATS_KV_PUT);
}

/* Whoever may ask, and not write, has it written: the server asks nobody where its answers go. */
TEST(what_a_server_was_made_to_answer_in_place_of_an_entry_is_told_from_one)
{
    static const char *const requests[] = {
        "$JS.API.DIRECT.GET.KV_b.$KV.b.there",   /* a copy of an entry */
        "$JS.API.DIRECT.GET.KV_b.$KV.b.deleted", /* a copy of a mark */
        "$JS.API.DIRECT.GET.KV_b.$KV.b.none",    /* that there is none */
        "$JS.API.STREAM.INFO.none",              /* an error */
        "$KV.b.other",                           /* that it is stored */
    };
    struct seen seen = { 0 };
    struct kv_outcome o;
    struct js_scene world;
    struct nats_kv kv = begin(&world, 5);
    struct err *err = &world.scene.err;
    struct nats_kv_watch *watch = nats_kv_watch_new(
        &kv, &(struct nats_kv_watch_options){ .entry = on_seen, .self = &seen }, err);

    CHECK(watch);
    kv.indirect = true;
    KV_WAIT(&world, &o, nats_kv_put(&kv, "there", STR("a value"), on_revision, &o, err));
    KV_WAIT(&world, &o, nats_kv_delete(&kv, "deleted", 0, on_revision, &o, err));
    for (int i = 0; i < (int)ARRAY_LEN(requests); i++) {
        char subject[64];
        const char *key = subject + strlen("$KV.b.");

        (void)snprintf(subject, sizeof(subject), "$KV.b.victim%d", i);
        KV_WAIT(&world, &o, nats_kv_put(&kv, key, STR("mine"), on_revision, &o, err));
        SCENE_RUN(&world.scene, seen.count == 2 * i + 1);
        CHECK_INT(nats_publish(world.conn.conn,
                               &(struct nats_pub){ .subject = str_from(requests[i]),
                                                   .reply = str_from(subject),
                                                   .payload = STR("") },
                               err),
                  0);
        SCENE_RUN(&world.scene, seen.count == 2 * i + 2);
        CHECK_INT(seen.answers, i + 1);
        KV_WAIT(&world, &o, nats_kv_get(&kv, key, on_victim, &o, err));
        CHECK_STR(o.error.text, "");
        /* and nobody creates an entry because a mark seems to be there */
        KV_WAIT(&world, &o, nats_kv_create(&kv, key, STR("new"), on_revision, &o, err));
        CHECK_INT(o.error.fault, NATS_FAULT_CONFLICT);
    }
    CHECK_INT(seen.deletes, 0);
    CHECK_INT(seen.bytes, ARRAY_LEN(requests) * strlen("mine"));
    nats_kv_watch_free(watch);
    js_scene_end(&world);
}

TEST(a_key_is_created_once_and_again_after_it_was_deleted)
{
    struct kv_outcome o;
    struct js_scene world;
    struct nats_kv kv = begin(&world, 1);
    struct err *err = &world.scene.err;

    KV_WAIT(&world, &o, nats_kv_create(&kv, "k", STR("1"), on_revision, &o, err));
    CHECK_STR(o.error.text, "");
    KV_WAIT(&world, &o, nats_kv_create(&kv, "k", STR("2"), on_revision, &o, err));
    CHECK_INT(o.error.fault, NATS_FAULT_CONFLICT);
    CHECK_STR(o.error.text, "key 'k' of bucket 'b': exists already");
    KV_WAIT(&world, &o, nats_kv_delete(&kv, "k", 0, on_revision, &o, err));
    KV_WAIT(&world, &o, nats_kv_create(&kv, "k", STR("3"), on_revision, &o, err));
    CHECK_STR(o.error.text, "");
    KV_WAIT(&world, &o, nats_kv_purge(&kv, "k", 0, on_revision, &o, err));
    KV_WAIT(&world, &o, nats_kv_create(&kv, "k", STR("4"), on_revision, &o, err));
    CHECK_STR(o.error.text, "");
    KV_WAIT(&world, &o, nats_kv_get(&kv, "k", on_entry, &o, err));
    CHECK_STR(o.value, "k=4");
    js_scene_end(&world);
}

TEST(an_update_that_is_settled_succeeds_alone_and_leaves_no_key)
{
    struct kv_outcome o;
    struct js_scene world;
    struct nats_kv kv = begin(&world, 1);
    struct err *err = &world.scene.err;

    kv.settled = true;
    KV_WAIT(&world, &o, nats_kv_create(&kv, "k", STR("1"), on_revision, &o, err));
    KV_WAIT(&world, &o, nats_kv_update(&kv, "k", STR("2"), 1, on_revision, &o, err));
    CHECK_STR(o.error.text, "");
    CHECK_INT(o.revision, 2);
    KV_WAIT(&world, &o, nats_kv_update(&kv, "k", STR("3"), 1, on_revision, &o, err));
    CHECK_INT(o.error.fault, NATS_FAULT_CONFLICT);
    KV_WAIT(&world, &o, nats_kv_delete(&kv, "k", 2, on_revision, &o, err));
    KV_WAIT(&world, &o, nats_kv_create(&kv, "k", STR("4"), on_revision, &o, err));
    CHECK_STR(o.error.text, "");
    KV_WAIT(&world, &o, nats_kv_get(&kv, "k", on_entry, &o, err));
    CHECK_STR(o.value, "k=4");
    KV_WAIT(&world, &o, nats_kv_get(&kv, NATS_KV_FENCE, on_entry, &o, err));
    CHECK_INT(o.error.fault, NATS_FAULT_NOT_FOUND);
    js_scene_end(&world);
}

/* What a server does that accepts two updates of one revision: ours is stored, and then another's
 * that expects what was there before. */
TEST(an_update_that_is_settled_fails_when_another_was_accepted_beside_it)
{
    struct kv_outcome first = { 0 }, o;
    struct js_scene world;
    struct nats_kv kv = begin(&world, 1), settled = kv;
    struct err *err = &world.scene.err;

    settled.settled = true;
    KV_WAIT(&world, &o, nats_kv_put(&kv, "k", STR("1"), on_revision, &o, err));
    o.count = 0;
    CHECK_INT(nats_kv_update(&settled, "k", STR("2"), 1, on_revision, &first, err), 0);
    CHECK_INT(nats_kv_put(&kv, "k", STR("3"), on_revision, &o, err), 0);
    SCENE_RUN(&world.scene, first.count == 1 && o.count == 1);
    CHECK_STR(o.error.text, "");
    CHECK_INT(first.error.fault, NATS_FAULT_CONFLICT);
    CHECK_HAS(first.error.text, "another update was accepted beside it");
    js_scene_end(&world);
}

#define PAIRS 50

static void ensure_replicated(struct scene *scene, const struct nats_js *js)
{
    const struct nats_kv_config config = { .bucket = "b", .history = 1, .replicas = CLUSTER_SIZE };
    struct js_outcome made = { .failed = true };

    while (made.failed) { /* until the servers have found each other */
        made.count = 0;
        CHECK_INT(nats_kv_ensure(js, &config, js_on_done, &made, &scene->err), 0);
        SCENE_RUN(scene, made.count == 1);
    }
}

TEST(of_two_updates_at_once_in_a_cluster_exactly_one_succeeds_when_they_are_settled)
{
    struct cluster cluster;
    struct watched conns[2];
    struct scene scene;
    struct nats_kv kv[2];

    cluster_start(&cluster, "");
    scene_begin(&scene);
    for (int i = 0; i < 2; i++) {
        watched_connect(&scene, &conns[i], cluster.servers[i].url);
        kv[i] = (struct nats_kv){
            .js = { .conn = conns[i].conn }, .bucket = "b", .indirect = true, .settled = true
        };
    }
    ensure_replicated(&scene, &kv[0].js);
    for (int pair = 0; pair < PAIRS; pair++) {
        struct kv_outcome put = { 0 }, o[2] = { 0 };

        CHECK_INT(nats_kv_put(&kv[0], "k", STR("0"), on_revision, &put, &scene.err), 0);
        SCENE_RUN(&scene, put.count == 1);
        CHECK_STR(put.error.text, "");
        for (int i = 0; i < 2; i++)
            CHECK_INT(nats_kv_update(&kv[i], "k", i ? STR("1") : STR("0"), put.revision,
                                     on_revision, &o[i], &scene.err),
                      0);
        SCENE_RUN(&scene, o[0].count == 1 && o[1].count == 1);
        CHECK_INT((o[0].error.text[0] == '\0') + (o[1].error.text[0] == '\0'), 1);
    }
    for (int i = 0; i < 2; i++)
        nats_conn_free(conns[i].conn);
    scene_end(&scene);
    cluster_stop(&cluster);
}

struct lines {
    struct buf text;
    int ends, failures, caught_up;
};

static void add_line(struct lines *lines, const struct nats_kv_entry *entry)
{
    static const char *const marks[] = { "=", "-", "!" };

    lines->text.max = BUF_NO_LIMIT;
    buf_printf(&lines->text, "%.*s%s%.*s ", STR_ARG(entry->key), marks[entry->change],
               STR_ARG(entry->value));
}

static void on_listed(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct lines *lines = self;

    if (entry)
        add_line(lines, entry);
    else
        lines->ends++;
    lines->failures += error != NULL;
}

static void on_watched(void *self, const struct nats_kv_entry *entry)
{
    add_line(self, entry);
}

static void on_caught_up(void *self)
{
    struct lines *lines = self;

    lines->caught_up++;
    lines->text.max = BUF_NO_LIMIT;
    buf_add_text(&lines->text, "| ");
}

static void on_failed(void *self, const struct nats_error *error)
{
    (void)error;
    ((struct lines *)self)->failures++;
}

static void put(struct js_scene *world, const struct nats_kv *kv, const char *key,
                const char *value)
{
    struct kv_outcome o;

    KV_WAIT(world, &o, nats_kv_put(kv, key, str_from(value), on_revision, &o, &world->scene.err));
    CHECK_STR(o.error.text, "");
}

TEST(keys_and_history_list_what_is_there)
{
    struct lines keys = { 0 }, some = { 0 }, history = { 0 }, none = { 0 };
    struct kv_outcome o;
    struct js_scene world;
    struct nats_kv kv = begin(&world, 3);
    struct err *err = &world.scene.err;

    CHECK_INT(nats_kv_keys(&kv, NULL, on_listed, &none, err), 0);
    SCENE_RUN(&world.scene, none.ends == 1);
    for (int i = 0; i < 5; i++) {
        char value[16];

        (void)snprintf(value, sizeof(value), "%d", i);
        put(&world, &kv, "a.1", value);
    }
    put(&world, &kv, "a.2", "x");
    put(&world, &kv, "b", "y");
    KV_WAIT(&world, &o, nats_kv_delete(&kv, "a.2", 0, on_revision, &o, err));
    CHECK_INT(nats_kv_keys(&kv, NULL, on_listed, &keys, err), 0);
    CHECK_INT(nats_kv_keys(&kv, "a.*", on_listed, &some, err), 0);
    CHECK_INT(nats_kv_history(&kv, "a.1", on_listed, &history, err), 0);
    SCENE_RUN(&world.scene, keys.ends + some.ends + history.ends == 3);
    CHECK_STR(buf_text(&none.text), "");
    CHECK_STR(buf_text(&keys.text), "a.1= b= ");
    CHECK_STR(buf_text(&some.text), "a.1= ");
    CHECK_STR(buf_text(&history.text), "a.1=2 a.1=3 a.1=4 ");
    KV_WAIT(&world, &o, nats_kv_purge(&kv, "a.1", 0, on_revision, &o, err));
    buf_clear(&history.text);
    CHECK_INT(nats_kv_history(&kv, "a.1", on_listed, &history, err), 0);
    SCENE_RUN(&world.scene, history.ends == 2);
    CHECK_STR(buf_text(&history.text), "a.1! a.1! a.1! "); /* and no value */
    CHECK_INT(keys.failures + some.failures + history.failures + none.failures, 0);
    buf_done(&keys.text);
    buf_done(&some.text);
    buf_done(&history.text);
    js_scene_end(&world);
}

TEST(a_watch_says_what_is_there_and_then_each_change_through_a_crash)
{
    struct lines lines = { 0 }, fresh = { 0 };
    struct nats_kv_watch *watch, *new_only;
    struct kv_outcome o;
    struct js_scene world;
    struct nats_kv kv = begin(&world, 1);
    struct err *err = &world.scene.err;

    put(&world, &kv, "a", "1");
    put(&world, &kv, "b", "1");
    put(&world, &kv, "a", "2");
    watch = nats_kv_watch_new(
        &kv,
        &(struct nats_kv_watch_options){
            .entry = on_watched, .caught_up = on_caught_up, .failed = on_failed, .self = &lines },
        err);
    new_only = nats_kv_watch_new(&kv,
                                 &(struct nats_kv_watch_options){ .pattern = "a",
                                                                  .new_only = true,
                                                                  .entry = on_watched,
                                                                  .caught_up = on_caught_up,
                                                                  .failed = on_failed,
                                                                  .self = &fresh },
                                 err);
    CHECK(watch && new_only);
    SCENE_RUN(&world.scene, lines.caught_up == 1 && fresh.caught_up == 1);
    put(&world, &kv, "a", "3");
    KV_WAIT(&world, &o, nats_kv_delete(&kv, "b", 0, on_revision, &o, err));
    SCENE_RUN(&world.scene, strstr(buf_text(&lines.text), "b-"));
    server_stop(&world.server, SIGKILL);
    server_start(&world.server);
    SCENE_RUN(&world.scene, world.conn.counts[NATS_EVENT_CONNECTED] == 2);
    put(&world, &kv, "c", "4");
    SCENE_RUN(&world.scene, strstr(buf_text(&lines.text), "c=4"));
    CHECK_STR(buf_text(&lines.text), "b=1 a=2 | a=3 b- c=4 ");
    put(&world, &kv, "a", "5");
    SCENE_RUN(&world.scene, strstr(buf_text(&fresh.text), "a=5"));
    CHECK_STR(buf_text(&fresh.text), "| a=3 a=5 ");
    CHECK_INT(lines.failures + fresh.failures, 0);
    nats_kv_watch_free(watch);
    nats_kv_watch_free(new_only);
    buf_done(&lines.text);
    buf_done(&fresh.text);
    js_scene_end(&world);
}

/* nats-server 2.9 forgets what it has not yet sent to a watch when a message rolls a key up. */
TEST(a_watch_misses_nothing_while_other_keys_are_purged_and_updates_settled)
{
    enum { KEYS = 100 };
    struct kv_outcome outcomes[3 * KEYS] = { 0 };
    struct lines lines = { 0 };
    struct nats_kv_watch *watch;
    struct js_scene world;
    struct nats_kv kv = begin(&world, 1);
    struct err *err = &world.scene.err;
    int done_count = 0;

    kv.settled = true;
    put(&world, &kv, "s", "1");
    watch = nats_kv_watch_new(
        &kv,
        &(struct nats_kv_watch_options){
            .entry = on_watched, .caught_up = on_caught_up, .failed = on_failed, .self = &lines },
        err);
    SCENE_RUN(&world.scene, lines.caught_up == 1);
    for (int i = 0; i < KEYS; i++) {
        char key[16];

        (void)snprintf(key, sizeof(key), "k.%d", i);
        CHECK_INT(nats_kv_put(&kv, key, STR("x"), on_revision, &outcomes[3 * i], err), 0);
        CHECK_INT(nats_kv_purge(&kv, "gone", 0, on_revision, &outcomes[3 * i + 1], err), 0);
        CHECK_INT(nats_kv_update(&kv, "s", STR("2"), 1, on_revision, &outcomes[3 * i + 2], err), 0);
    }
    SCENE_RUN(&world.scene, (done_count = count_done(outcomes, ARRAY_LEN(outcomes))) == 3 * KEYS);
    CHECK_INT(done_count, 3 * KEYS);
    put(&world, &kv, "k.end", "x");
    SCENE_RUN(&world.scene, strstr(buf_text(&lines.text), "k.end=x"));
    for (int i = 0; i < KEYS; i++) {
        char entry[24];

        (void)snprintf(entry, sizeof(entry), "k.%d=x ", i);
        CHECK_HAS(buf_text(&lines.text), entry);
    }
    nats_kv_watch_free(watch);
    buf_done(&lines.text);
    js_scene_end(&world);
}

TEST(a_key_that_changes_while_keys_are_listed_is_listed_once)
{
    struct lines lines = { 0 }, all = { 0 };
    struct nats_kv_watch *watch;
    struct js_scene world;
    struct nats_kv kv = begin(&world, 1);
    struct err *err = &world.scene.err;

    put(&world, &kv, "a", "1");
    put(&world, &kv, "b", "1");
    CHECK_INT(nats_kv_list(&kv, NULL, on_listed, &all, err), 0);
    watch = nats_kv_watch_new(&kv,
                              &(struct nats_kv_watch_options){ .once = true,
                                                               .entry = on_watched,
                                                               .caught_up = on_caught_up,
                                                               .failed = on_failed,
                                                               .self = &lines },
                              err);
    CHECK(watch);
    SCENE_RUN(&world.scene, lines.caught_up == 1 && all.ends == 1);
    put(&world, &kv, "a", "2");
    put(&world, &kv, "c", "1");
    SCENE_RUN(&world.scene, strstr(buf_text(&lines.text), "c=1"));
    CHECK_STR(buf_text(&lines.text), "a=1 b=1 | c=1 ");
    CHECK_STR(buf_text(&all.text), "a=1 b=1 ");
    nats_kv_watch_free(watch);
    buf_done(&lines.text);
    buf_done(&all.text);
    js_scene_end(&world);
}

static void on_put(void *self, const struct nats_error *error, uint64_t revision)
{
    CHECK(!error && revision > 0);
    (*(size_t *)self)++;
}

TEST(a_list_ends_when_keys_are_replaced_while_it_begins)
{
    enum { ROUNDS = 8 };
    struct lines all = { 0 };
    struct js_scene world;
    struct nats_kv kv = begin(&world, 1);
    size_t stored = 0;

    put(&world, &kv, "a", "1");
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_INT(nats_kv_list(&kv, "a", on_listed, &all, &world.scene.err), 0);
        for (int change = 0; change < ROUNDS; change++)
            CHECK_INT(nats_kv_put(&kv, "a", STR("2"), on_put, &stored, &world.scene.err), 0);
    }
    SCENE_RUN(&world.scene, all.ends == ROUNDS && stored == ROUNDS * ROUNDS);
    buf_done(&all.text);
    js_scene_end(&world);
}

TEST(a_watch_of_no_bucket_fails_and_one_of_a_closed_connection_too)
{
    struct lines missing = { 0 }, closed = { 0 };
    struct nats_kv_watch *first, *second;
    struct js_scene world;
    struct nats_kv kv = begin(&world, 1), none = kv;
    const struct nats_kv_watch_options options = { .entry = on_watched, .failed = on_failed };
    struct nats_kv_watch_options o = options;

    none.bucket = "none";
    o.self = &missing;
    first = nats_kv_watch_new(&none, &o, &world.scene.err);
    SCENE_RUN(&world.scene, missing.failures == 1);
    o.self = &closed;
    second = nats_kv_watch_new(&kv, &o, &world.scene.err);
    scene_turn(&world.scene);
    nats_conn_free(world.conn.conn);
    CHECK_INT(closed.failures, 1);
    nats_kv_watch_free(first);
    nats_kv_watch_free(second);
    scene_end(&world.scene);
    server_stop(&world.server, SIGTERM);
}

static const char *const bad_keys[] = {
    "", ".", "a.", ".a", "a..b", "a b", "a:b", "a*", "a.>", "ä"
};

TEST(keys_that_are_not_keys_are_refused)
{
    struct nats_kv kv = { .bucket = "b" }, bad = { .bucket = "a.b" };
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(bad_keys); i++)
        CHECK_INT(nats_kv_layout_check(&kv, bad_keys[i], false, &err), -1);
    CHECK_INT(nats_kv_layout_check(&kv, "a.*.>", true, &err), 0);
    CHECK_INT(nats_kv_layout_check(&bad, "a", false, &err), -1);
    CHECK_STR(err.text, "'a.b' is not a valid bucket name");
}
