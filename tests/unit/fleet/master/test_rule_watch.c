#include "fleet/master/reactor/rule_watch.h"

#include "core/base/diag.h"
#include "fleet/bus/store.h"
#include "fleet/nats/js_scene.h"
#include "fleet/nats/kv.h"
#include "fleet/reactor/rule_set.h"
#include "test.h"
#include "fleet/wire/fileset.h"

/* A watch of the rules of a fleet that has none at first, on a real server. */
struct post {
    struct js_scene world;
    struct rule_watch *watch;
    int ready, loads, failures;
    int64_t loaded_at;
};

static void on_ready(void *self, const struct store_result *result)
{
    CHECK_INT(result->problem_count, 0);
    ((struct post *)self)->ready++;
}

static void on_loaded(void *self, struct rule_set *rules, const struct diags *lints)
{
    struct post *post = self;

    CHECK_INT(lints->list.n, 0);
    post->loads++;
    post->loaded_at = clock_now();
    rule_set_drop(rules);
}

static void on_failed(void *self, const char *text)
{
    (void)text;
    ((struct post *)self)->failures++;
}

static void begin_watch(struct post *post)
{
    struct err *err = &post->world.scene.err;

    *post = (struct post){ 0 };
    js_scene_begin(&post->world);
    CHECK_INT(store_ensure(&post->world.js, &(struct store_options){ 0 }, on_ready, post, err), 0);
    SCENE_RUN(&post->world.scene, post->ready == 1);
    post->watch = rule_watch_new(&(struct rule_watch_options){ .js = post->world.js,
                                                               .loop = post->world.scene.loop,
                                                               .loaded = on_loaded,
                                                               .failed = on_failed,
                                                               .self = post },
                                 err);
    CHECK(post->watch);
}

static void post_begin(struct post *post)
{
    begin_watch(post);
    SCENE_RUN(&post->world.scene, post->loads == 1); /* nothing, after RULE_WATCH_FIRST_NS */
}

static void post_end(struct post *post)
{
    rule_watch_free(post->watch);
    js_scene_end(&post->world);
}

static void on_put(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)revision;
    CHECK(!error);
    ((struct post *)self)->ready++;
}

static void put_revision(struct post *post, const char *text)
{
    const struct nats_kv kv = { .js = post->world.js,
                                .bucket = store_bucket_name(STORE_REACTOR_FILES) };

    post->ready = 0;
    CHECK_INT(
        nats_kv_put(&kv, FILESET_REVISION, str_from(text), on_put, post, &post->world.scene.err),
        0);
    SCENE_RUN(&post->world.scene, post->ready == 1);
}

TEST(a_new_revision_is_loaded_after_the_pause)
{
    struct post post;
    int64_t before;

    post_begin(&post);
    before = clock_now();
    put_revision(&post, "1");
    SCENE_RUN(&post.world.scene, post.loads == 2);
    CHECK(post.loaded_at - before >= RULE_WATCH_DEBOUNCE_NS);
    CHECK_INT(post.failures, 0);
    post_end(&post);
}

/* With so many, some are near both ends, and they spread: masters do not all load at once. */
TEST(the_pause_before_a_load_is_two_to_seven_seconds)
{
    int seconds[7] = { 0 };

    for (int i = 0; i < 10000; i++) {
        const int64_t pause = rule_watch_pause();

        CHECK(pause >= 2 * CLOCK_SECOND && pause < 7 * CLOCK_SECOND);
        seconds[pause / CLOCK_SECOND]++;
    }
    for (size_t i = 2; i < ARRAY_LEN(seconds); i++)
        CHECK(seconds[i] > 1000);
}

TEST(a_fleet_without_rules_waits_for_the_first_revision)
{
    struct post post;
    int64_t before = clock_now();

    post_begin(&post);
    CHECK(post.loaded_at - before >= RULE_WATCH_FIRST_NS);
    post_end(&post);
}

/* How long it takes to load nothing when nothing is expected. */
static int64_t measure_empty_load(void)
{
    struct post post;
    int64_t before = clock_now();

    begin_watch(&post);
    rule_watch_expect_none(post.watch);
    SCENE_RUN(&post.world.scene, post.loads == 1);
    CHECK_INT(post.failures, 0);
    post_end(&post);
    return post.loaded_at - before;
}

TEST(a_fleet_whose_publisher_has_no_rules_does_not_wait_for_them)
{
    int tries = 0;

    while (measure_empty_load() >= RULE_WATCH_FIRST_NS) /* a busy machine may take that long */
        CHECK(++tries < 20);
}
