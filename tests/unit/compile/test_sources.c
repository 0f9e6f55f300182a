#include "test.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "compile/sources.h"
#include "sys/fs.h"

/* What happens while sources_pick waits: at one of its waits a file appears in the cache. */
struct world {
    const char *cache;
    int fill_at; /* 0: never */
    int waits;
    int64_t waited;
};

static void put(const char *folder)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err;

    CHECK(fs_mkdirs(folder, 0755, &err) == 0);
    CHECK(fs_replace(arena_printf(&arena, "%s/top.zy", folder), STR("x"), NULL, &err) == 0);
}

static void fake_sleep(void *user, int64_t ns)
{
    struct world *world = user;

    world->waited += ns;
    if (++world->waits == world->fill_at)
        put(world->cache);
}

struct places {
    const char *cache, *baked;
};

static struct places make_places(struct arena *arena)
{
    const char *top = test_folder();

    return (struct places){ arena_printf(arena, "%s/cache", top),
                            arena_printf(arena, "%s/baked", top) };
}

TEST(a_cache_with_files_wins_without_waiting)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct places at = make_places(&arena);
    struct world world = { .cache = at.cache };
    const struct sources sources = { at.cache, at.baked, fake_sleep, &world };
    const char *folder;
    bool fell_back;
    struct err err;

    put(at.cache);
    put(at.baked);
    CHECK(sources_pick(&sources, &folder, &fell_back, &err) == 0);
    CHECK_STR(folder, at.cache);
    CHECK(!fell_back);
    CHECK_INT(world.waits, 0);
}

TEST(an_empty_cache_is_looked_at_five_times_25_ms_apart)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct places at = make_places(&arena);
    struct world world = { .cache = at.cache };
    const struct sources sources = { at.cache, at.baked, fake_sleep, &world };
    const char *folder;
    bool fell_back;
    struct err err;

    CHECK(fs_mkdirs(at.cache, 0755, &err) == 0);
    put(at.baked);
    CHECK(sources_pick(&sources, &folder, &fell_back, &err) == 0);
    CHECK_STR(folder, at.baked);
    CHECK(fell_back);
    CHECK_INT(world.waits, 4);
    CHECK_INT(world.waited, 100 * INT64_C(1000000));
}

TEST(a_cache_that_is_being_swapped_is_found_at_the_last_look)
{
    for (int fill_at = 1; fill_at <= 4; fill_at++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const struct places at = make_places(&arena);
        struct world world = { .cache = at.cache, .fill_at = fill_at };
        const struct sources sources = { at.cache, at.baked, fake_sleep, &world };
        const char *folder;
        bool fell_back;
        struct err err;

        put(at.baked);
        CHECK(sources_pick(&sources, &folder, &fell_back, &err) == 0);
        CHECK_STR(folder, at.cache);
        CHECK(!fell_back);
        CHECK_INT(world.waits, fill_at);
        CHECK(unlink(arena_printf(&arena, "%s/top.zy", at.cache)) == 0 && rmdir(at.cache) == 0);
    }
}

TEST(every_execution_looks_again)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct places at = make_places(&arena);
    struct world world = { .cache = at.cache };
    const struct sources sources = { at.cache, at.baked, fake_sleep, &world };
    const char *folder;
    bool fell_back;
    struct err err;

    put(at.baked);
    CHECK(sources_pick(&sources, &folder, &fell_back, &err) == 0);
    CHECK_STR(folder, at.baked);
    put(at.cache);
    CHECK(sources_pick(&sources, &folder, &fell_back, &err) == 0);
    CHECK_STR(folder, at.cache);
}

TEST(without_a_cache_in_the_configuration_there_is_nothing_to_wait_for)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct places at = make_places(&arena);
    struct world world = { 0 };
    const struct sources sources = { NULL, at.baked, fake_sleep, &world };
    const char *folder;
    bool fell_back;
    struct err err;

    CHECK(fs_mkdirs(at.baked, 0755, &err) == 0);
    CHECK(sources_pick(&sources, &folder, &fell_back, &err) == 0);
    CHECK_STR(folder, at.baked);
    CHECK(!fell_back);
    CHECK_INT(world.waits, 0);
}

TEST(with_neither_the_engine_is_unavailable_in_the_documented_words)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct places at = make_places(&arena);
    struct world world = { .cache = at.cache };
    const struct sources sources = { at.cache, at.baked, fake_sleep, &world };
    const char *folder;
    bool fell_back;
    struct err err;

    CHECK(sources_pick(&sources, &folder, &fell_back, &err) == -1);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    CHECK_STR(err.text,
              "states engine unavailable: no states directory exists yet (state files not yet "
              "synced from KV and no baked states dir); retry after state files are published");
    CHECK_STR(SOURCES_WARNING, "state-file cache dir empty or missing after retries, falling back "
                               "to baked states dir");
    CHECK_STR(SOURCES_UNAVAILABLE_AT_BOOT,
              "states engine unavailable at boot; will build when state files appear");
}
