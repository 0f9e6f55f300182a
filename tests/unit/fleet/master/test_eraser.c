#include "fleet/master/eraser.h"

#include <string.h>

#include "fleet/nats/js_scene.h"
#include "fleet/nats/kv.h"

/* Less than the mark of a purge, and enough for a value. */
#define SMALL 16

static void on_written(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)revision;
    js_outcome_set(self, error);
}

static void on_key(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct js_outcome *outcome = self;

    if (entry)
        outcome->messages++;
    else
        js_outcome_set(outcome, error);
}

static void set_value_size(struct js_scene *world, int64_t size)
{
    JS_OK(world, nats_kv_ensure(&world->js,
                                &(struct nats_kv_config){ .bucket = "b", .max_value_size = size },
                                js_on_done, &done, &world->scene.err));
}

static void put(struct js_scene *world, const struct nats_kv *kv, const char *key)
{
    JS_OK(world, nats_kv_put(kv, key, STR("value"), on_written, &done, &world->scene.err));
}

/* Purges an unused key: its answer follows those of all earlier requests on this connection. */
static bool can_purge(struct js_scene *world, const struct nats_kv *kv)
{
    struct js_outcome outcome;

    JS_WAIT(world, &outcome,
            nats_kv_purge(kv, "other", 0, on_written, &outcome, &world->scene.err));
    return !outcome.failed;
}

static int64_t count_keys(struct js_scene *world, const struct nats_kv *kv, const char *pattern)
{
    struct js_outcome outcome;

    JS_WAIT(world, &outcome, nats_kv_keys(kv, pattern, on_key, &outcome, &world->scene.err));
    CHECK(!outcome.failed);
    return outcome.messages;
}

TEST(a_refused_removal_is_retried_until_it_succeeds)
{
    static const char *const keys[] = { "web-01", "web-01.a", "web-01.b", "web-02.a" };
    struct eraser *eraser;
    struct js_scene world;
    struct nats_kv kv;

    js_scene_begin(&world);
    kv = (struct nats_kv){ .js = world.js, .bucket = "b" };
    eraser = eraser_new(world.scene.loop);
    set_value_size(&world, 0);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        put(&world, &kv, keys[i]);
    set_value_size(&world, SMALL);

    eraser_remove(eraser, &kv, "web-01");
    eraser_remove_all(eraser, &kv, "web-01.>");
    CHECK(!can_purge(&world, &kv));
    CHECK_INT(count_keys(&world, &kv, "web-01.*"), 2);
    CHECK(eraser_waiting(eraser) >= 1);

    set_value_size(&world, 0);
    SCENE_RUN(&world.scene, eraser_waiting(eraser) == 0);
    CHECK_INT(count_keys(&world, &kv, "web-01"), 0);
    CHECK_INT(count_keys(&world, &kv, "web-01.*"), 0);
    CHECK_INT(count_keys(&world, &kv, "web-02.*"), 1);
    eraser_free(eraser);
    js_scene_end(&world);
}

TEST(a_missing_bucket_is_waited_for)
{
    struct eraser *eraser;
    struct js_scene world;
    struct nats_kv kv;

    js_scene_begin(&world);
    kv = (struct nats_kv){ .js = world.js, .bucket = "b" };
    eraser = eraser_new(world.scene.loop);
    eraser_remove(eraser, &kv, "web-01");
    eraser_remove_all(eraser, &kv, "web-01.>");
    CHECK(!can_purge(&world, &kv));
    CHECK_INT(eraser_waiting(eraser), 2);
    set_value_size(&world, 0);
    SCENE_RUN(&world.scene, eraser_waiting(eraser) == 0);
    eraser_free(eraser);
    js_scene_end(&world);
}

TEST(an_eraser_may_be_freed_during_a_request)
{
    struct eraser *eraser;
    struct js_scene world;
    struct nats_kv kv;

    js_scene_begin(&world);
    kv = (struct nats_kv){ .js = world.js, .bucket = "b" };
    eraser = eraser_new(world.scene.loop);
    set_value_size(&world, 0);
    put(&world, &kv, "web-01");
    eraser_remove(eraser, &kv, "web-01");
    eraser_remove_all(eraser, &kv, "web-01.>");
    eraser_free(eraser);
    CHECK(can_purge(&world, &kv));
    CHECK_INT(count_keys(&world, &kv, "web-01"), 0);
    js_scene_end(&world);
}
