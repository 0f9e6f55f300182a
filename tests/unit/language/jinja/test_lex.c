#include "test.h"

#include "core/base/arena.h"
#include "language/jinja/lex.h"
#include "language/jinja/literal.h"

/* The tokens of a text, data in angle brackets, others by their kind and text. */
static const char *tokens(struct arena *arena, const char *text, bool trim, bool lstrip)
{
    struct lex *lex = ARENA_NEW(arena, struct lex);
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    lex_init(lex, str_from(text), trim, lstrip);
    for (;;) {
        struct lex_token token = lex_next(lex);

        if (token.kind == TOKEN_EOF)
            break;
        if (token.kind == TOKEN_ERROR) {
            buf_printf(&out, "!%s", lex->error);
            break;
        }
        if (token.kind == TOKEN_DATA)
            buf_printf(&out, "<%.*s>", STR_ARG(token.text));
        else if (token.kind == TOKEN_BLOCK_END || token.kind == TOKEN_VARIABLE_END)
            buf_add_text(&out, "]");
        else if (token.kind == TOKEN_BLOCK_BEGIN || token.kind == TOKEN_VARIABLE_BEGIN)
            buf_add_text(&out, "[");
        else
            buf_printf(&out, "%.*s ", STR_ARG(token.text));
    }
    return buf_copy(&out, arena).p;
}

TEST(text_is_cut_into_data_and_tags)
{
    static const struct {
        const char *text, *tokens;
        bool trim, lstrip;
    } cases[] = {
        { "", "", false, false },
        { "plain { text } {", "<plain { text } {>", false, false },
        { "a{{ b.c }}d", "<a>[b . c ]<d>", false, false },
        { "{% if a-1 %}", "[if a - 1 ]", false, false },
        { "a {%- x -%} b", "<a>[x ]<b>", false, false },
        { "a {#- c -#} b", "<a><b>", false, false },
        { "{# a #}{# b #}c", "<c>", false, false },
        { "{{ '}}' ~ {'a': {}} }}", "['}}' ~ { 'a' : { } } ]", false, false },
        { "{% raw %}{{ x }}{% endraw %}", "<{{ x }}>", false, false },
        { "{% raw %}{% endraw %}x", "<x>", false, false },
        { "{% x %}\n\ny", "[x ]<\ny>", true, false },
        { "a\n  {% x %}", "<a\n>[x ]", false, true },
        { "a  {% x %}", "<a  >[x ]", false, true },
        { "  {{ x }}", "<  >[x ]", false, true },
        { "  {%+ x +%}\ny", "<  >[x ]<\ny>", true, true },
        { "{{ 1_0 0x1F 1.5e3 1.x 0_0 }}", "[1_0 0x1F 1.5e3 1 . x 0_0 ]", false, false },
        { "{{ a ** b // c != d >= e }}", "[a ** b // c != d >= e ]", false, false },
        { "{{ (] }}", "[( !unexpected ']', expected ')'", false, false },
        { "{{ ) }}", "[!unexpected ')'", false, false },
        { "{{ ? }}", "[!unexpected character '?'", false, false },
        { "{{ 'x }}", "[!the text that begins here has no closing quote", false, false },
        { "{# x", "!missing end of comment tag", false, false },
        { "{% raw %} x", "!missing end of raw directive", false, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;

        CHECK_STR(tokens(&arena, cases[i].text, cases[i].trim, cases[i].lstrip), cases[i].tokens);
    }
}

TEST(a_tag_can_be_left_from_within)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct lex *lex = ARENA_NEW(&arena, struct lex);

    lex_init(lex, STR("{{ ( ? }}after"), false, false);
    (void)lex_next(lex);
    (void)lex_next(lex);
    struct lex_token bad = lex_next(lex);
    CHECK_INT(bad.kind, TOKEN_ERROR);
    lex_skip_tag(lex, bad.at);
    CHECK_INT(lex_next(lex).kind, TOKEN_DATA);
    CHECK_INT(lex_next(lex).kind, TOKEN_EOF);
}

TEST(integers_fit_64_bits_or_are_none)
{
    static const struct {
        const char *text;
        bool fits;
        int64_t value;
    } cases[] = {
        { "0", true, 0 },
        { "00_0", true, 0 },
        { "1_000", true, 1000 },
        { "0x_fF", true, 255 },
        { "0B101", true, 5 },
        { "0o17", true, 15 },
        { "9223372036854775807", true, INT64_MAX },
        { "9223372036854775808", false, 0 },
        { "0xffffffffffffffff", false, 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t value = 0;

        CHECK_INT(literal_integer(str_from(cases[i].text), &value), cases[i].fits);
        CHECK_INT(value, cases[i].value);
    }
    CHECK(literal_float(STR("1_0.5e1")) > 104.9 && literal_float(STR("1_0.5e1")) < 105.1);
}

TEST(texts_know_the_escapes_of_python)
{
    static const struct {
        const char *quoted, *text, *error;
    } cases[] = {
        { "'plain'", "plain", NULL },
        { "'a\\nb\\t'", "a\nb\t", NULL },
        { "'\\x41\\u00e9\\U0001F600'", "A\xc3\xa9\xf0\x9f\x98\x80", NULL },
        { "'\\101\\7'", "A\a", NULL },
        { "'\\d\\ '", "\\d\\ ", NULL },
        { "'a\\\nb'", "ab", NULL },
        { "'\\\xc3\xa9'", "\\xe9", NULL },
        { "'\\x4'", NULL, "truncated \\xXX escape" },
        { "'\\u12'", NULL, "truncated \\uXXXX escape" },
        { "'\\U00110000'", NULL, "illegal Unicode character" },
        { "'\\N{BULLET}'", NULL, "characters by name (\\N) are not supported, use \\u" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct str text;
        const char *error = literal_text(&arena, str_from(cases[i].quoted), &text);

        if (cases[i].error)
            CHECK_STR(error, cases[i].error);
        else
            CHECK_STR(text.p, cases[i].text);
    }
}
