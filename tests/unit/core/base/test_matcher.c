#include "core/base/matcher.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "test.h"

static bool finds(const char *pattern, unsigned flags, const char *text)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct matcher *matcher;
    struct err err = { 0 };
    bool found = false;

    if (matcher_new(&arena, str_from(pattern), flags, &matcher, NULL, &err) < 0 ||
        matcher_find(matcher, str_from(text), 0, NULL, &found, &err) < 0)
        fail_msg("%s: %s", pattern, err.text);
    return found;
}

TEST(a_matcher_searches_anywhere_unless_anchored)
{
    CHECK(finds("b\\d", 0, "ab1"));
    CHECK(!finds("^b\\d", 0, "ab1"));
    CHECK(finds("(?<=a)b(?!2)", 0, "ab1"));
    CHECK(!finds("B", 0, "b"));
    CHECK(finds("B", MATCHER_IGNORE_CASE, "b"));
    CHECK(finds("^b", MATCHER_MULTILINE, "a\nb"));
    CHECK(!finds("a.b", 0, "a\nb"));
    CHECK(finds("a.b", MATCHER_DOTALL, "a\nb"));
    CHECK(finds("a b # c", MATCHER_VERBOSE, "ab"));
    CHECK(finds("", 0, ""));
}

TEST(a_pattern_that_is_no_text_at_all_matches_everywhere)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct matcher *matcher;
    struct err err;
    bool found = false;

    CHECK_INT(matcher_new(&arena, (struct str){ 0 }, MATCHER_MANY, &matcher, NULL, &err), 0);
    CHECK_INT(matcher_find(matcher, STR("a"), 0, NULL, &found, &err), 0);
    CHECK(found);
}

TEST(bytes_that_are_not_utf8_do_not_stop_a_search)
{
    CHECK(finds("web", 0, "\xff\xfeweb"));
    CHECK(finds("^.$", 0, "\xc3\xa4"));
}

TEST(groups_are_distinguished_by_bytes)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct matcher *matcher;
    struct matcher_match match;
    struct str text = STR("port=8080");
    struct err err;
    bool found;

    CHECK_INT(matcher_new(&arena, STR("(\\w+)=(\\d+)(x)?"), 0, &matcher, NULL, &err), 0);
    CHECK_INT(matcher_find(matcher, text, 0, &match, &found, &err), 0);
    CHECK(found);
    CHECK_INT(match.count, 4);
    CHECK(str_is(matcher_text(&match, text, 1), "port"));
    CHECK(str_is(matcher_text(&match, text, 2), "8080"));
    CHECK(!matcher_text(&match, text, 3).p);
    CHECK(!matcher_text(&match, text, 4).p);
}

TEST(an_invalid_pattern_says_where)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct matcher *matcher;
    struct err err;
    size_t at;

    CHECK_INT(matcher_new(&arena, STR("web(a"), 0, &matcher, &at, &err), -1);
    CHECK_INT(err.code, ERR_INVALID);
    CHECK_INT(at, 5);
    CHECK_STR(err.text, "pattern 'web(a': missing closing parenthesis");
}

TEST(limits_of_patterns_are_named)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char *text = arena_alloc(&arena, MATCHER_PATTERN_MAX + 1);
    const struct matcher *matcher;
    struct err err;
    bool found;

    memset(text, 'a', MATCHER_PATTERN_MAX + 1);
    CHECK_INT(
        matcher_new(&arena, str_bytes(text, MATCHER_PATTERN_MAX + 1), 0, &matcher, NULL, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_HAS(err.text, "at most 65536 bytes");

    CHECK_INT(matcher_new(&arena, STR("(a+)+$"), 0, &matcher, NULL, &err), 0);
    text[60] = 'b';
    CHECK_INT(matcher_find(matcher, str_bytes(text, 61), 0, NULL, &found, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_HAS(err.text, "more than 1000000 steps");
}

TEST(groups_have_numbers_and_names)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct matcher *matcher;
    struct err err;

    CHECK_INT(matcher_new(&arena, STR("(a)(?<second>b)(?P<third>c)"), 0, &matcher, NULL, &err), 0);
    CHECK_INT(matcher_groups(matcher), 4);
    CHECK_INT(matcher_group_named(matcher, STR("second")), 2);
    CHECK_INT(matcher_group_named(matcher, STR("third")), 3);
    CHECK(matcher_group_named(matcher, STR("fourth")) == STR_NONE);
    CHECK(matcher_group_named(matcher, STR("")) == STR_NONE);
}

static void compare_scan(const char *pattern, const char *bytes)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct str text = str_from(bytes);
    const struct matcher *matcher;
    struct matcher_scan scan;
    struct matcher_match one = { 0 }, other = { 0 };
    bool found = true, same = true;
    struct err err;

    CHECK_INT(matcher_new(&arena, str_from(pattern), MATCHER_MANY, &matcher, NULL, &err), 0);
    scan = matcher_scan(matcher, text);
    for (size_t from = 0; found; from = one.groups[0].end) {
        CHECK_INT(matcher_find(matcher, text, from, &one, &found, &err), 0);
        CHECK_INT(matcher_scan_find(&scan, from, &other, &same, &err), 0);
        CHECK_INT(same, found);
        CHECK_INT(other.count, one.count);
        for (size_t i = 0; found && i < one.count; i++) {
            CHECK_INT(other.groups[i].start, one.groups[i].start);
            CHECK_INT(other.groups[i].end, one.groups[i].end);
        }
    }
}

TEST(a_scan_finds_the_same_as_a_search)
{
    static const char *const texts[] = {
        "a1 b22 c333",
        "",
        "\xc3\xa4"
        "1\xff"
        "2",
        "x\xc3",
        "\xff\xff",
        "\xff"
        "1\n2\xe2\x82"
        "3\n4",
        "1\x80\x80\n22\n\xf0\x9f\x98 33\n\xff",
    };
    static const char *const patterns[] = {
        "\\d+",       "^\\d",   "\\d$",   "\\b\\d", "(?<=\n)\\d", "(?m)^\\d",
        "(?m)(\\d)$", "\\A\\d", "\\d\\z", "\\d\\Z", "\\G\\d",     "(\\d)(x)?",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        for (size_t k = 0; k < ARRAY_LEN(patterns); k++)
            compare_scan(patterns[k], texts[i]);
}

/* The library refuses a search that begins in the middle of what is not UTF-8. */
TEST(a_scan_continues_from_any_byte)
{
    static const struct str text = { "x\xff\x80\x80y", 5 };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct matcher *matcher;
    struct matcher_match match = { 0 };
    struct matcher_scan scan;
    bool found = false;
    struct err err;

    CHECK_INT(matcher_new(&arena, STR("z*"), MATCHER_MANY, &matcher, NULL, &err), 0);
    scan = matcher_scan(matcher, text);
    for (size_t from = 0; from <= text.n; from++)
        CHECK_INT(matcher_scan_find(&scan, from, &match, &found, &err), 0);
    CHECK(found);
    CHECK_INT(match.groups[0].start, 5);
}
