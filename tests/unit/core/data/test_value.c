#include "core/data/value.h"

#include <math.h>

#include "test.h"

static struct value numbers(struct arena *arena, int64_t from, int64_t to)
{
    struct value_list *list = value_list_new(arena, 0);

    for (int64_t i = from; i <= to; i++)
        value_list_push(arena, list, value_int(i));
    return value_list(list);
}

static void set(struct arena *arena, struct value *map, const char *key, struct value v)
{
    value_map_set(arena, map->map, value_text(key), v);
}

TEST(a_key_that_was_appended_is_found_among_few_and_many)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value_map *map = value_map_new(&arena, 0);

    for (int64_t i = 0; i < 100; i++) {
        value_map_append(&arena, map, value_int(i), value_int(2 * i));
        for (int64_t k = 0; k <= i; k++) {
            const struct value key = value_int(k), *found = value_map_find(map, &key);

            CHECK(found && found->i == 2 * k);
        }
    }
    CHECK_INT(map->count, 100);
}

TEST(numbers_are_equal_across_kinds_and_hash_alike)
{
    struct value one = value_int(1), yes = value_bool(true), real = value_double(1.0);
    struct value text = value_text("1");

    CHECK(value_equal(&one, &yes) && value_equal(&yes, &real) && value_equal(&one, &real));
    CHECK_INT(value_hash(&one), value_hash(&yes));
    CHECK_INT(value_hash(&one), value_hash(&real));
    CHECK(!value_equal(&one, &text));
}

TEST(large_integers_and_doubles_compare_exactly)
{
    struct value big = value_int(INT64_MAX), almost = value_double(0x1p63);
    struct value nan = value_double(NAN);
    int order = 0;

    CHECK_INT(value_compare(&big, &almost, &order), 0);
    CHECK_INT(order, -1);
    CHECK(!value_equal(&nan, &nan));
    CHECK_INT(value_compare(&nan, &big, &order), -1);
}

TEST(a_map_of_any_size_finds_its_keys_and_keeps_their_order)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value map = value_map(value_map_new(&arena, 0));

    for (int64_t i = 0; i < 1000; i++)
        value_map_set(&arena, map.map, value_int(i), value_int(i * 2));
    for (int64_t i = 0; i < 1000; i += 2) {
        struct value key = value_double((double)i);

        CHECK(value_map_remove(map.map, &key));
    }
    CHECK_INT(map.map->count, 500);
    for (int64_t i = 0; i < 1000; i++) {
        struct value key = value_int(i);
        const struct value *found = value_map_find(map.map, &key);

        CHECK(i % 2 == 0 ? !found : found && found->i == i * 2);
    }
    CHECK_INT(map.map->pairs[0].key.i, 1);
    CHECK_INT(map.map->pairs[499].key.i, 999);
}

TEST(a_key_is_found_wherever_it_was_in_the_map_before)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    uint32_t place = 0;

    for (int64_t size = 0; size < 40; size++) {
        struct value_map *map = value_map_new(&arena, 0);
        const struct value *found;

        for (int64_t i = 0; i < size; i++)
            value_map_append(&arena, map, value_int(i), value_int(i));
        CHECK(!value_map_find_near(map, STR("key"), &place));
        value_map_append(&arena, map, value_text("yek"), value_int(-1));
        value_map_append(&arena, map, value_text("key"), value_int(size));
        for (int again = 0; again < 2; again++) {
            found = value_map_find_near(map, STR("key"), &place);
            CHECK(found && found->i == size);
            CHECK_INT(place, size + 1);
        }
    }
}

TEST(a_list_takes_all_items_of_another_or_its_own)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct value few = numbers(&arena, 1, 3), none = numbers(&arena, 1, 0);
    struct value_list *list = value_list_new(&arena, 4);

    value_list_add_all(&arena, list, none.list);
    value_list_add_all(&arena, list, few.list);
    value_list_add_all(&arena, list, list);
    CHECK_INT(list->count, 6);
    for (size_t i = 0; i < list->count; i++)
        CHECK_INT(list->items[i].i, i % 3 + 1);
}

TEST(a_path_walks_maps_and_lists_and_whole_keys_win)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value top = value_map(value_map_new(&arena, 0));
    struct value os = value_map(value_map_new(&arena, 0));

    set(&arena, &os, "family", value_text("debian"));
    set(&arena, &top, "os", os);
    set(&arena, &top, "list", numbers(&arena, 10, 12));
    set(&arena, &top, "a.b", value_int(7));
    value_map_set(&arena, top.map, value_int(80), value_text("http"));

    CHECK_STR(value_path(&top, STR("os.family"), '.')->s.p, "debian");
    CHECK_INT(value_path(&top, STR("list.2"), '.')->i, 12);
    CHECK_INT(value_path(&top, STR("a.b"), '.')->i, 7);
    CHECK_STR(value_path(&top, STR("80"), ':')->s.p, "http");
    CHECK(!value_path(&top, STR("os.family.x"), '.'));
    CHECK(!value_path(&top, STR("list.3"), '.'));
    CHECK(!value_path(&top, STR("list.-1"), '.'));
}

TEST(a_deep_merge_keeps_keys_that_the_upper_map_lacks)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value base = value_map(value_map_new(&arena, 0));
    struct value over = value_map(value_map_new(&arena, 0));
    struct value inner = value_map(value_map_new(&arena, 0));
    struct value other = value_map(value_map_new(&arena, 0));
    struct value merged;

    set(&arena, &inner, "x", value_int(1));
    set(&arena, &inner, "y", value_int(1));
    set(&arena, &base, "m", inner);
    set(&arena, &base, "l", numbers(&arena, 1, 2));
    set(&arena, &other, "y", value_int(2));
    set(&arena, &over, "m", other);
    set(&arena, &over, "l", numbers(&arena, 3, 3));

    merged = value_merge(&arena, &base, &over, VALUE_MERGE_REPLACE);
    CHECK_INT(value_path(&merged, STR("m.x"), '.')->i, 1);
    CHECK_INT(value_path(&merged, STR("m.y"), '.')->i, 2);
    CHECK_INT(value_get(&merged, "l")->list->count, 1);
    CHECK_INT(value_path(&base, STR("m.y"), '.')->i, 1);

    merged = value_merge(&arena, &base, &over, VALUE_MERGE_APPEND);
    CHECK_INT(value_get(&merged, "l")->list->count, 3);
}

TEST(a_list_that_holds_itself_ends_every_walk)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value a = value_list(value_list_new(&arena, 0));
    struct value b = value_list(value_list_new(&arena, 0));

    value_list_push(&arena, a.list, a);
    value_list_push(&arena, b.list, b);
    CHECK(!value_equal(&a, &b));
    (void)value_hash(&a);
    CHECK_INT(value_copy(&arena, &a).list->count, 1);
}

TEST(a_copy_shares_nothing_with_its_original)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct arena short_lived = ARENA_INIT;
    struct value original = value_map(value_map_new(&short_lived, 0));
    struct value copied;

    set(&short_lived, &original, arena_strdup(&short_lived, "key"),
        value_text(arena_strdup(&short_lived, "text")));
    copied = value_copy(&arena, &original);
    arena_done(&short_lived);
    CHECK_STR(value_get(&copied, "key")->s.p, "text");
}

TEST(lists_compare_item_by_item_and_tuples_are_not_lists)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value a = numbers(&arena, 1, 2), b = numbers(&arena, 1, 3), tuple = a;
    int order = 0;

    tuple.flags = VALUE_TUPLE;
    CHECK_INT(value_compare(&a, &b, &order), 0);
    CHECK_INT(order, -1);
    CHECK(!value_equal(&a, &tuple));
}
