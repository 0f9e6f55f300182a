#include "core/base/arena.h"

#include "test.h"

TEST(objects_are_aligned_apart_and_zeroed_when_asked)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char *before = NULL;

    for (size_t size = 0; size < 200; size++) {
        char *p = arena_zalloc(&arena, size);

        CHECK_INT((uintptr_t)p % _Alignof(max_align_t), 0);
        CHECK(p != before);
        for (size_t i = 0; i < size; i++)
            CHECK_INT(p[i], 0);
        memset(p, 0xff, size);
        before = p;
    }
}

TEST(an_object_larger_than_any_block_gets_its_own)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char *small = arena_strdup(&arena, "small");
    char *big = arena_alloc(&arena, (size_t)5 << 20);

    memset(big, 'x', (size_t)5 << 20);
    CHECK_STR(small, "small");
    CHECK_STR(arena_strdup(&arena, "after"), "after");
    CHECK(arena.used >= (size_t)5 << 20);
}

TEST(the_last_object_grows_in_place_and_others_move)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char *first = arena_strndup(&arena, "first", 5);
    char *last = arena_strndup(&arena, "last", 4);
    char *grown = arena_grow(&arena, last, 5, 100);
    char *moved;

    CHECK(grown == last);
    CHECK_STR(grown, "last");
    memset(grown, 'z', 100);
    moved = arena_grow(&arena, first, 6, 50);
    CHECK(moved != first);
    CHECK_STR(moved, "first");
    CHECK_STR(first, "first");
    CHECK(arena_grow(&arena, moved, 50, 20) == moved);
}

TEST(growing_beyond_the_block_keeps_the_content)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    size_t size = 1;
    char *p = arena_alloc(&arena, size);

    p[0] = 'a';
    for (; size < (size_t)1 << 22; size *= 2) {
        p = arena_grow(&arena, p, size, size * 2);
        memset(p + size, 'a', size);
    }
    for (size_t i = 0; i < size; i++)
        if (p[i] != 'a')
            CHECK_INT(i, size);
}

TEST(growing_from_nothing_is_a_first_allocation)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char *p = arena_grow(&arena, NULL, 0, 10);

    memset(p, 'x', 10);
    CHECK(p != NULL);
}

TEST(a_cleared_arena_starts_again_and_stays_small)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    arena_clear(&arena);
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 100; i++)
            CHECK_STR(arena_printf(&arena, "%d-%s", i, "text") + (i < 10 ? 1 : 2), "-text");
        CHECK(arena.used > 0 && arena.used < 10000);
        arena_clear(&arena);
        CHECK_INT(arena.used, 0);
    }
    arena_done(&arena);
    CHECK(arena.blocks == NULL);
    CHECK_STR(arena_strdup(&arena, "again"), "again");
}

/* Written whole and read again: blocks of every kind are as large as they say. */
static void fill_arena(struct arena *arena)
{
    static const size_t sizes[] = { 1, 40, 5000, 300000, 3000000, 17 };
    unsigned char *objects[600];

    for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
        const size_t size = i % 100 == 99 ? sizes[4] : sizes[i % 4] + sizes[5];

        objects[i] = arena_alloc(arena, size);
        CHECK((uintptr_t)objects[i] % _Alignof(max_align_t) == 0);
        memset(objects[i], (int)(i % 251), size);
    }
    for (size_t i = 0; i < ARRAY_LEN(objects); i++)
        CHECK(objects[i][0] == i % 251);
}

TEST(an_arena_with_large_pages_works_like_any_other)
{
    struct arena arena = ARENA_INIT_LARGE;

    fill_arena(&arena);
    arena_clear(&arena);
    CHECK_INT(arena.used, 0);
    fill_arena(&arena);
    arena_done(&arena);
    CHECK(arena.blocks == NULL);
    CHECK_STR(arena_strdup(&arena, "again"), "again");
    arena_done(&arena);
}

TEST(printed_texts_of_every_length_are_whole)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char text[600] = "";

    for (size_t n = 0; n + 1 < sizeof(text); n++) {
        CHECK_STR(arena_printf(&arena, "%s", text), text);
        text[n] = (char)('a' + n % 26);
    }
}

TEST(copies_of_text_end_in_nul)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str copy = arena_str(&arena, (struct str){ "a\0bc", 3 });

    CHECK_INT(copy.n, 3);
    CHECK(memcmp(copy.p, "a\0b", 4) == 0);
    CHECK_STR(arena_strndup(&arena, NULL, 0), "");
    CHECK_STR(arena_printf(&arena, "%s", ""), "");
}
