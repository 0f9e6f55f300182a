#include "fleet/master/peels/roster.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "fleet/bus/store.h"
#include "core/data/msgpack.h"
#include "core/data/value.h"
#include "fleet/nats/js_scene.h"
#include "fleet/nats/kv.h"
#include "test.h"

#define PEELS 100
#define FACTS ((size_t)64 << 10)

/* From the address sanitizer; without it nothing is measured. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

struct hall {
    struct js_scene world;
    struct roster *roster;
    int ready, written, gone;
};

static void on_ready(void *self, const struct store_result *result)
{
    CHECK_INT(result->problem_count, 0);
    ((struct hall *)self)->ready++;
}

static void on_facts(void *self, struct str peel, const struct value *facts)
{
    (void)peel;
    ((struct hall *)self)->gone += facts == NULL;
}

static void on_written(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)revision;
    CHECK(!error);
    ((struct hall *)self)->written++;
}

static void put_facts(struct hall *hall, const struct nats_kv *kv, const char *peel)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct value_map *map = value_map_new(&arena, 1);
    const struct value facts = value_map(map);
    char *text = arena_alloc(&arena, FACTS);

    memset(text, 'x', FACTS - 1);
    text[FACTS - 1] = '\0';
    value_map_set(&arena, map, value_text("text"), value_text(text));
    CHECK_INT(msgpack_encode(&bytes, &facts, &hall->world.scene.err), 0);
    CHECK_INT(nats_kv_put(kv, peel, buf_view(&bytes), on_written, hall, &hall->world.scene.err), 0);
}

static size_t allocated(void)
{
    return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() : 0;
}

TEST(deleted_peels_take_no_memory)
{
    struct hall hall = { 0 };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err *err = &hall.world.scene.err;
    struct nats_kv kv;
    size_t before;

    js_scene_begin(&hall.world);
    CHECK_INT(store_ensure(&hall.world.js, &(struct store_options){ 0 }, on_ready, &hall, err), 0);
    SCENE_RUN(&hall.world.scene, hall.ready == 1);
    kv = (struct nats_kv){ .js = hall.world.js, .bucket = store_bucket_name(STORE_FACTS) };
    hall.roster = roster_new(
        &hall.world.js,
        &(struct roster_options){ .master_id = "master-1", .on_facts = on_facts, .self = &hall },
        err);
    CHECK(hall.roster);
    SCENE_RUN(&hall.world.scene, roster_is_seeded(hall.roster));
    before = allocated();
    for (int i = 0; i < PEELS; i++)
        put_facts(&hall, &kv, arena_printf(&arena, "peel-%d", i));
    SCENE_RUN(&hall.world.scene, roster_count(hall.roster) == PEELS && hall.written == PEELS);
    CHECK(!before || allocated() > before + PEELS * FACTS);
    for (int i = 0; i < PEELS; i++)
        CHECK_INT(nats_kv_purge(&kv, arena_printf(&arena, "peel-%d", i), 0, on_written, &hall, err),
                  0);
    SCENE_RUN(&hall.world.scene, hall.gone == PEELS && hall.written == 2 * PEELS);
    CHECK_INT(roster_count(hall.roster), 0);
    CHECK(!before || allocated() < before + PEELS * FACTS / 4);
    roster_free(hall.roster);
    js_scene_end(&hall.world);
}
