#include "core/base/utf8.h"

#include "test.h"

static const struct {
    const char *name;
    struct str bytes;
    uint32_t c;
} valid[] = {
    { "nul", { "\0", 1 }, 0 },
    { "last of one byte", { "\x7f", 1 }, 0x7f },
    { "first of two", { "\xc2\x80", 2 }, 0x80 },
    { "last of two", { "\xdf\xbf", 2 }, 0x7ff },
    { "first of three", { "\xe0\xa0\x80", 3 }, 0x800 },
    { "before the surrogates", { "\xed\x9f\xbf", 3 }, 0xd7ff },
    { "after the surrogates", { "\xee\x80\x80", 3 }, 0xe000 },
    { "last of three", { "\xef\xbf\xbf", 3 }, 0xffff },
    { "first of four", { "\xf0\x90\x80\x80", 4 }, 0x10000 },
    { "last of all", { "\xf4\x8f\xbf\xbf", 4 }, 0x10ffff },
};

TEST(every_length_is_read_and_written)
{
    for (size_t i = 0; i < ARRAY_LEN(valid); i++) {
        AUTO_BUF struct buf out = BUF_INIT(10);
        struct str rest = valid[i].bytes;

        CHECK(utf8_is_valid(rest));
        CHECK_INT(utf8_length_at(rest), rest.n);
        CHECK_INT(utf8_next(&rest), valid[i].c);
        CHECK_INT(rest.n, 0);
        utf8_add(&out, valid[i].c);
        CHECK(str_eq(buf_view(&out), valid[i].bytes));
    }
}

static const struct {
    const char *name;
    struct str bytes;
} invalid[] = {
    { "a lone continuation", { "\x80", 1 } },
    { "the last continuation", { "\xbf", 1 } },
    { "two bytes cut short", { "\xc3", 1 } },
    { "three cut short", { "\xe2\x82", 2 } },
    { "four cut short", { "\xf0\x9f\x98", 3 } },
    { "a letter inside", { "\xe2\x41\x82", 3 } },
    { "overlong slash in two", { "\xc0\xaf", 2 } },
    { "overlong in two, last", { "\xc1\xbf", 2 } },
    { "overlong in three", { "\xe0\x9f\xbf", 3 } },
    { "overlong in four", { "\xf0\x8f\xbf\xbf", 4 } },
    { "first surrogate", { "\xed\xa0\x80", 3 } },
    { "last surrogate", { "\xed\xbf\xbf", 3 } },
    { "beyond Unicode", { "\xf4\x90\x80\x80", 4 } },
    { "a five byte form", { "\xf8\x88\x80\x80\x80", 5 } },
    { "fe", { "\xfe", 1 } },
    { "ff", { "\xff", 1 } },
};

TEST(bytes_that_are_not_a_character_count_one_each)
{
    for (size_t i = 0; i < ARRAY_LEN(invalid); i++) {
        struct str rest = invalid[i].bytes;

        CHECK(!utf8_is_valid(rest));
        CHECK_INT(utf8_length_at(rest), 1);
        CHECK_INT(utf8_next(&rest), UTF8_BAD);
        CHECK_INT(rest.n, invalid[i].bytes.n - 1);
        CHECK_INT(utf8_count(invalid[i].bytes), invalid[i].bytes.n);
    }
}

TEST(invalid_characters_are_written_as_the_replacement)
{
    static const uint32_t bad[] = { 0xd800, 0xdfff, 0x110000, UINT32_MAX };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO_BUF struct buf out = BUF_INIT(10);

        utf8_add(&out, bad[i]);
        CHECK_STR(buf_text(&out), "\ufffd");
    }
}

TEST(characters_are_counted_and_found)
{
    struct str text = STR("a\u00e9\u20ac\U0001f600z");

    CHECK_INT(utf8_count(text), 5);
    CHECK_INT(utf8_offset(text, 0), 0);
    CHECK_INT(utf8_offset(text, 2), 3);
    CHECK_INT(utf8_offset(text, 4), 10);
    CHECK_INT(utf8_offset(text, 9), text.n);
    CHECK_INT(utf8_count(STR("plain text of ASCII")), 19);
    CHECK_INT(utf8_offset(STR("plain"), 99), 5);
    CHECK_INT(utf8_count((struct str){ NULL, 0 }), 0);
    CHECK_INT(utf8_length_at((struct str){ NULL, 0 }), 0);
}

TEST(ascii_is_recognized_at_every_offset)
{
    char text[32];

    for (size_t i = 0; i < sizeof(text); i++) {
        memset(text, 'a', sizeof(text));
        CHECK(utf8_is_ascii((struct str){ text, sizeof(text) }));
        text[i] = (char)0x80;
        CHECK(!utf8_is_ascii((struct str){ text, sizeof(text) }));
        CHECK(utf8_is_ascii((struct str){ text, i }));
    }
}

TEST(printable_ascii_is_counted_from_the_beginning)
{
    CHECK_INT(utf8_plain_length(STR("")), 0);
    CHECK_INT(utf8_plain_length(STR(" a~")), 3);
    CHECK_INT(utf8_plain_length(STR("ab\ncd")), 2);
    CHECK_INT(utf8_plain_length(STR("a\x7f")), 1);
    CHECK_INT(utf8_plain_length(STR("a\xc3\xa4")), 1);
    CHECK_INT(utf8_plain_length((struct str){ "a\0b", 3 }), 1);
}

TEST(an_empty_text_ends_a_walk)
{
    struct str none = { NULL, 0 };

    CHECK_INT(utf8_next(&none), UTF8_BAD);
    CHECK_INT(none.n, 0);
    CHECK(utf8_is_valid(none));
}

TEST(control_and_reordering_characters_must_not_be_shown)
{
    CHECK(utf8_is_control(STR("\x1b")));
    CHECK(utf8_is_control(STR("\xff")));
    CHECK(utf8_is_control(STR("\xc2\x9b")));
    CHECK(utf8_is_control(STR("\xe2\x80\xae")));
    CHECK(utf8_is_control(STR("\xe2\x81\xa6")));
    CHECK(!utf8_is_control(STR("\xe2\x82\xac")));
    CHECK(!utf8_is_control(STR("\xc3\xbc")));
}
