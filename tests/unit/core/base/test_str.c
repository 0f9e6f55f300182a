#include "core/base/str.h"

#include <limits.h>

#include "test.h"

static const struct str none = { NULL, 0 };

TEST(views_are_compared_by_their_bytes)
{
    CHECK(str_eq(STR("a\0b"), ((struct str){ "a\0b", 3 })));
    CHECK(!str_eq(STR("a\0b"), STR("a\0c")));
    CHECK(str_eq(none, STR("")));
    CHECK(str_is(STR("abc"), "abc"));
    CHECK(!str_is(STR("abc"), "ab"));
    CHECK(str_compare(STR("a"), STR("b")) < 0);
    CHECK(str_compare(STR("a"), STR("ab")) < 0);
    CHECK(str_compare(STR("\xff"), STR("a")) > 0);
    CHECK_INT(str_compare(none, STR("")), 0);
    CHECK(str_eq(str_bytes("ab", 1), STR("a")));
}

TEST(starts_and_ends_include_the_empty_text_and_the_whole)
{
    CHECK(str_starts(STR("abc"), STR("ab")));
    CHECK(str_starts(STR("abc"), STR("abc")));
    CHECK(str_starts(none, none));
    CHECK(!str_starts(STR("ab"), STR("abc")));
    CHECK(str_ends(STR("abc"), STR("bc")));
    CHECK(str_ends(STR("abc"), none));
    CHECK(!str_ends(STR("c"), STR("bc")));
}

TEST(slices_never_leave_the_text)
{
    CHECK(str_is(str_slice(STR("abcd"), 1, 2), "bc"));
    CHECK(str_is(str_slice(STR("abcd"), 3, 9), "d"));
    CHECK_INT(str_slice(STR("abcd"), 9, 9).n, 0);
    CHECK_INT(str_slice(STR("abcd"), 2, STR_NONE).n, 2);
    CHECK(str_slice(none, 3, 3).p == NULL);
    CHECK(str_is(str_from_offset(STR("abcd"), 2), "cd"));
}

TEST(a_slice_of_an_empty_view_stays_where_that_is)
{
    const struct str text = STR("abcd"), empty = str_slice(text, 2, 0);

    CHECK(empty.p == text.p + 2);
    CHECK(str_slice(empty, 1, 1).p == empty.p);
    CHECK_INT(str_slice(empty, 1, 1).n, 0);
}

TEST(parts_are_found_from_an_offset_on)
{
    CHECK_INT(str_find(STR("abcabc"), STR("bc"), 0), 1);
    CHECK_INT(str_find(STR("abcabc"), STR("bc"), 2), 4);
    CHECK(str_find(STR("abcabc"), STR("bc"), 5) == STR_NONE);
    CHECK(str_find(STR("abc"), STR("abc"), 9) == STR_NONE);
    CHECK_INT(str_find(STR("abc"), none, 3), 3);
    CHECK(str_find(none, STR("a"), 0) == STR_NONE);
    CHECK_INT(str_find_char(STR("a\0b"), '\0', 0), 1);
    CHECK(str_find_char(STR("ab"), 'b', 2) == STR_NONE);
    CHECK(str_find_char(none, 'a', 0) == STR_NONE);
}

TEST(blanks_are_trimmed_at_the_ends_only)
{
    CHECK(str_is(str_trim(STR(" \t\n a b \r\f\v")), "a b"));
    CHECK(str_is(str_trim_left(STR("  a ")), "a "));
    CHECK(str_is(str_trim_right(STR(" a  ")), " a"));
    CHECK_INT(str_trim(STR(" \n")).n, 0);
    CHECK_INT(str_trim(none).n, 0);
    CHECK(str_is(str_trim(STR("\u00a0")), "\u00a0"));
}

TEST(fields_are_cut_until_the_rest_is_null)
{
    struct str rest = STR("a,,b,");
    AUTO_BUF struct buf seen = BUF_INIT(100);

    while (rest.p) {
        struct str field = str_cut(&rest, ',');

        buf_printf(&seen, "[%.*s]", STR_ARG(field));
    }
    CHECK_STR(buf_text(&seen), "[a][][b][]");
}

TEST(a_line_is_found_by_any_of_its_bytes)
{
    struct str text = STR("one\r\ntwo\n\nlast");

    CHECK(str_is(str_line_at(text, 0), "one"));
    CHECK(str_is(str_line_at(text, 4), "one"));
    CHECK(str_is(str_line_at(text, 5), "two"));
    CHECK(str_is(str_line_at(text, 9), ""));
    CHECK(str_is(str_line_at(text, 10), "last"));
    CHECK(str_is(str_line_at(text, 99), "last"));
    CHECK(str_is(str_line_at(STR("\n"), 0), ""));
}

TEST(long_views_are_cut_for_printf)
{
    CHECK_INT(str_int(7), 7);
    CHECK_INT(str_int((size_t)INT_MAX + 1), INT_MAX);
}
