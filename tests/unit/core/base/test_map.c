#include "core/base/map.h"

#include <stdio.h>

#include "core/base/arena.h"
#include "test.h"

TEST(a_map_keeps_the_order_of_first_insertion)
{
    struct map map = MAP_INIT;
    char order[8] = "";
    size_t n = 0;

    map_set(&map, STR("b"), &map);
    map_set(&map, STR("a"), &map);
    map_set(&map, STR("c"), &map);
    map_set(&map, STR("b"), NULL);
    MAP_EACH (&map, entry)
        order[n++] = entry->key.p[0];
    CHECK_STR(order, "bac");
    map_done(&map);
}

TEST(a_removed_key_is_gone_and_may_come_back_at_the_end)
{
    struct map map = MAP_INIT;
    int x, y;

    map_set(&map, STR("a"), &x);
    map_set(&map, STR("b"), &x);
    CHECK(map_remove(&map, STR("a")) == &x);
    CHECK(!map_has(&map, STR("a")));
    CHECK(map_remove(&map, STR("a")) == NULL);
    map_set(&map, STR("a"), &y);
    CHECK(map_find(&map, STR("a")) == &y);
    CHECK(map_next(&map, NULL)->key.p[0] == 'b');
    CHECK_INT(map_count(&map), 2);
    map_done(&map);
}

TEST(a_map_of_many_keys_in_an_arena_finds_each)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct map map = MAP_INIT_IN(&arena);

    for (uintptr_t i = 0; i < 10000; i++)
        map_set(&map, str_from(arena_printf(&arena, "key-%zu", (size_t)i)), (void *)(i + 1));
    for (uintptr_t i = 0; i < 10000; i += 3)
        map_remove(&map, str_from(arena_printf(&arena, "key-%zu", (size_t)i)));
    for (uintptr_t i = 0; i < 10000; i++) {
        uintptr_t want = i % 3 == 0 ? 0 : i + 1;

        CHECK_INT((uintptr_t)map_find(&map, str_from(arena_printf(&arena, "key-%zu", (size_t)i))),
                  want);
    }
}

TEST(the_place_of_a_key_is_looked_at_and_set_at_once)
{
    struct map map = MAP_INIT;
    char keys[100][8];
    int x;

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        void **place;

        (void)snprintf(keys[i], sizeof(keys[i]), "%zu", i);
        place = map_place(&map, str_from(keys[i]));
        CHECK(*place == NULL);
        *place = &x;
        CHECK(map_place(&map, str_from(keys[i])) == place);
    }
    CHECK_INT(map_count(&map), ARRAY_LEN(keys));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        CHECK(map_find(&map, str_from(keys[i])) == &x);
    (void)map_remove(&map, STR("7"));
    CHECK(*map_place(&map, STR("7")) == NULL);
    CHECK(map_has(&map, STR("7")));
    map_done(&map);
}

TEST(the_empty_key_is_a_key)
{
    struct map map = MAP_INIT;
    int x;

    map_set(&map, (struct str){ NULL, 0 }, &x);
    CHECK(map_find(&map, STR("")) == &x);
    map_done(&map);
}

TEST(a_map_with_reserved_room_does_not_grow)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_ARENA struct arena keys = ARENA_INIT;
    struct map map = MAP_INIT_IN(&arena);
    size_t used;
    char key[16];

    map_reserve(&map, 100);
    used = arena.used;
    for (int i = 0; i < 100; i++) {
        (void)snprintf(key, sizeof(key), "key %d", i);
        CHECK(map_set(&map, str_from(arena_strdup(&keys, key)), &map) == NULL);
    }
    CHECK_INT(arena.used, used);
    map_reserve(&map, 5); /* there is more already */
    CHECK_INT(map_count(&map), 100);
    CHECK(map_has(&map, STR("key 99")));
    map_reserve(&map, 200);
    CHECK(map_has(&map, STR("key 0")) && map_count(&map) == 100);
}
