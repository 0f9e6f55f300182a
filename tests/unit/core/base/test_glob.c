#include "core/base/glob.h"

#include "test.h"

static const struct {
    const char *pattern, *text;
    bool match;
} cases[] = {
    { "", "", true },
    { "", "a", false },
    { "a", "a", true },
    { "a", "A", false },
    { "a", "ab", false },
    { "ab", "a", false },
    { "ab", "", false },
    { "abc*", "abd", false },
    { "a\u00e9*", "a\u00e9b", true },
    { "a\u00e9", "a\u00e8", false },
    { "a\u00e9", "a\xc3", false },
    { "a[\u00e8-\u00ea]", "a\u00e9", true },
    { "a[b", "a[b", true },
    { "*", "", true },
    { "*", "any/thing", true },
    { "web*", "web1.example.org", true },
    { "web*", "aweb", false },
    { "*.org", "a.b.org", true },
    { "*.org", "a.b.organ", false },
    { "a*b*c", "a-b-b-c", true },
    { "a*b*c", "a-c-b", false },
    { "**a**", "bab", true },
    { "a**", "a", true },
    { "?", "", false },
    { "?", "x", true },
    { "?", "\u00e9", true },
    { "??", "\u00e9", false },
    { "?\u20ac", "\u00e9\u20ac", true },
    { "?", "\xff", true },
    { "\xff", "\ufffd", false },
    { "[\xff]", "\xff", true },
    { "[\xff]", "\xfe", false },
    { "*?", "", false },
    { "?*", "a", true },
    { "[abc]", "b", true },
    { "[abc]", "d", false },
    { "[!abc]", "d", true },
    { "[!abc]", "a", false },
    { "[!abc]", "", false },
    { "[^a]", "^", true },
    { "[^a]", "b", false },
    { "[a-c]x", "bx", true },
    { "[a-c]", "d", false },
    { "[c-a]", "b", false },
    { "[!c-a]", "b", true },
    { "[a-]", "-", true },
    { "[-a]", "-", true },
    { "[a-c-e]", "d", false },
    { "[a-c-e]", "-", true },
    { "[\u00e0-\u00ef]", "\u00e9", true },
    { "[]]", "]", true },
    { "[]a]", "a", true },
    { "[!]]", "]", false },
    { "[!]]", "a", true },
    { "[]-a]", "_", true },
    { "[", "[", true },
    { "[a", "[a", true },
    { "[a", "a", false },
    { "[]", "[]", true },
    { "[!]", "[!]", true },
    { "[!", "[!", true },
    { "a]b", "a]b", true },
    { "[*]", "*", true },
    { "[*]", "x", false },
    { "[?]a", "?a", true },
    { "*[0-9]", "web12", true },
    { "*[0-9]", "web12x", false },
    { "\\*", "\\abc", true },
    { "a\nb*", "a\nb\nc", true },
    { "web[0-9][!0-9]*.org", "web1a.org", true },
};

TEST(globs_match_as_fnmatch_does)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (glob_match(str_from(cases[i].pattern), str_from(cases[i].text)) != cases[i].match)
            CHECK_STR(cases[i].pattern, cases[i].match ? "(a match)" : "(no match)");
}

static const struct {
    unsigned flags;
    const char *pattern, *text;
    bool match;
} flagged[] = {
    { GLOB_CARET, "[^a]", "b", true },
    { GLOB_CARET, "[^a]", "^", true },
    { GLOB_CARET, "[^]a]", "]", false },
    { GLOB_ESCAPE, "\\*", "*", true },
    { GLOB_ESCAPE, "\\*", "a", false },
    { GLOB_ESCAPE, "\\[a]", "[a]", true },
    { GLOB_ESCAPE, "a\\", "a\\", true },
    { GLOB_ESCAPE, "\\\\?", "\\x", true },
    { 0, "\\*", "*", false },
    { GLOB_FOLD, "Web*[A-C]", "wEBa", true },
    { GLOB_FOLD, "\u00c9", "\u00e9", false },
    { GLOB_PATH, "*", "a/b", false },
    { GLOB_PATH, "a?b", "a/b", false },
    { GLOB_PATH, "a[!x]b", "a/b", false },
    { GLOB_PATH, "*/*.c", "src/x.c", true },
    { GLOB_PATH, "*/*.c", "src/x/y.c", false },
    { GLOB_PATH, "**", "a/b/c", true },
    { GLOB_PATH, "**/x", "x", true },
    { GLOB_PATH, "**/x", "a/b/x", true },
    { GLOB_PATH, "**/x", "a/bx", false },
    { GLOB_PATH, "a/**/b/*.c", "a/b/x.c", true },
    { GLOB_PATH, "a/**/b/*.c", "a/c/b/b/x.c", true },
    { GLOB_PATH, "a/**/b/*.c", "a/c/b/d/x.c", false },
    { GLOB_PATH, "a**b", "a/x/b", true },
    { 0, "a**/b", "a/x/b", true },
};

TEST(flags_extend_the_patterns)
{
    for (size_t i = 0; i < ARRAY_LEN(flagged); i++)
        if (glob_match_with(str_from(flagged[i].pattern), str_from(flagged[i].text),
                            flagged[i].flags) != flagged[i].match)
            CHECK_STR(flagged[i].pattern, flagged[i].match ? "(a match)" : "(no match)");
}

TEST(many_deep_stars_do_not_take_forever)
{
    AUTO_BUF struct buf pattern = BUF_INIT(BUF_NO_LIMIT);
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    for (int i = 0; i < 100; i++)
        buf_add_text(&pattern, "**a*b");
    buf_fill(&text, 'a', 4000);
    CHECK(!glob_match_with(buf_view(&pattern), buf_view(&text), GLOB_PATH));
}

TEST(a_text_may_be_a_null_view)
{
    struct str none = { NULL, 0 };

    CHECK(glob_match(none, none));
    CHECK(glob_match(STR("*"), none));
    CHECK(!glob_match(STR("?"), none));
    CHECK(!glob_match(none, STR("a")));
}

TEST(many_stars_do_not_take_forever)
{
    AUTO_BUF struct buf pattern = BUF_INIT(BUF_NO_LIMIT);
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    for (int i = 0; i < 200; i++)
        buf_add_text(&pattern, "*a");
    buf_add_char(&pattern, 'b');
    buf_fill(&text, 'a', 20000);
    CHECK(!glob_match(buf_view(&pattern), buf_view(&text)));
    buf_add_char(&text, 'b');
    CHECK(glob_match(buf_view(&pattern), buf_view(&text)));
}

TEST(open_brackets_do_not_take_forever)
{
    AUTO_BUF struct buf pattern = BUF_INIT(BUF_NO_LIMIT);
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_add_char(&pattern, '*');
    buf_fill(&pattern, '[', 1000);
    buf_add_char(&pattern, 'x');
    buf_fill(&text, '[', 5000);
    CHECK(!glob_match(buf_view(&pattern), buf_view(&text)));
}

TEST(a_plain_pattern_has_no_special_character)
{
    CHECK(glob_is_plain(STR("web1.example.org")));
    CHECK(glob_is_plain(STR("")));
    CHECK(glob_is_plain(STR("a]b!-")));
    CHECK(!glob_is_plain(STR("web*")));
    CHECK(!glob_is_plain(STR("web?")));
    CHECK(!glob_is_plain(STR("web[")));
}
