#include "core/data/scalar.h"

#include <float.h>
#include <math.h>

#include "core/base/err.h"
#include "core/base/number.h"
#include "core/data/value.h"
#include "test.h"

static void show(struct buf *out, struct str word, enum yaml_dialect dialect)
{
    struct value v;
    struct err err;

    if (scalar_parse(word, dialect, &v, &err) < 0) {
        buf_add_text(out, err.text);
        return;
    }
    switch (v.kind) {
    case VALUE_BOOL: buf_printf(out, "bool %s", v.b ? "true" : "false"); break;
    case VALUE_INT: buf_printf(out, "int %jd", (intmax_t)v.i); break;
    case VALUE_TIME:
        buf_printf(out, "time %jd.%09u", (intmax_t)v.t.seconds, v.t.nanoseconds);
        break;
    case VALUE_NULL: buf_add_text(out, "null"); break;
    case VALUE_DOUBLE:
        buf_add_text(out, "double ");
        if (isfinite(v.d))
            number_print_double(v.d, out);
        else
            scalar_print(out, &v);
        break;
    default:
        CHECK(v.kind == VALUE_STR && str_eq(v.s, word));
        buf_add_text(out, "text");
        break;
    }
}

static int run_words(const struct golden *golden, struct buf *out)
{
    struct str rest = str_trim_right(golden_section(golden, "input"));

    while (rest.p) {
        AUTO_BUF struct buf old = BUF_INIT(BUF_NO_LIMIT);
        AUTO_BUF struct buf new = BUF_INIT(BUF_NO_LIMIT);
        struct str word = str_cut(&rest, '\n');

        show(&old, word, YAML_DIALECT_1_1);
        show(&new, word, YAML_DIALECT_1_2);
        buf_printf(out, "%-40.*s| %-34s| %s\n", STR_ARG(word), buf_text(&old), buf_text(&new));
    }
    return 0;
}

TEST(plain_words_follow_their_dialect)
{
    test_golden("core/yaml/scalars.txt", run_words);
}

TEST(integers_beyond_64_bits_are_an_error_that_quotes_them)
{
    static const char *const words[] = {
        "9223372036854775808",     "-9223372036854775809", "0x8000000000000000",
        "99999999999999999999999", "0x10000000000000000",
    };
    struct value v;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        for (enum yaml_dialect d = YAML_DIALECT_1_1; d <= YAML_DIALECT_1_2; d++) {
            CHECK_INT(scalar_parse(str_from(words[i]), d, &v, &err), -1);
            CHECK_INT(err.code, ERR_LIMIT);
            CHECK_HAS(err.text, words[i]);
            CHECK_HAS(err.text, "64-bit");
        }
    CHECK_INT(scalar_parse(STR("9000000000000000000:00"), YAML_DIALECT_1_1, &v, &err), -1);
    CHECK_INT(scalar_parse(STR("99999999999999999999:00"), YAML_DIALECT_1_1, &v, &err), -1);
    CHECK_HAS(err.text, "99999999999999999999:00");
    CHECK_INT(scalar_parse(STR("0o7777777777777777777777"), YAML_DIALECT_1_2, &v, &err), -1);
}

TEST(a_word_with_a_nul_is_text)
{
    struct value v;
    struct err err;
    const struct str words[] = { STR("1\0"), STR("0x1\0"), STR("1.5\0"), STR("-\0"), STR("\0") };

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        CHECK_INT(scalar_parse(words[i], YAML_DIALECT_1_1, &v, &err), 0);
        CHECK_INT(v.kind, VALUE_STR);
        CHECK_INT(scalar_parse(words[i], YAML_DIALECT_1_2, &v, &err), 0);
        CHECK_INT(v.kind, VALUE_STR);
    }
}

TEST(printed_numbers_read_back_the_same_in_every_dialect)
{
    static const double numbers[] = {
        0,       -0.0,    1,        -1,           0.1,     1e16,    1e15,     1e-5,     1.5e300,
        DBL_MAX, DBL_MIN, -DBL_MAX, DBL_TRUE_MIN, 1.0 / 3, 2.0 / 3, 123456.5, INFINITY, -INFINITY,
    };
    struct value v;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        for (enum yaml_dialect d = YAML_DIALECT_1_1; d <= YAML_DIALECT_1_2; d++) {
            AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
            struct value number = value_double(numbers[i]);

            scalar_print(&out, &number);
            CHECK_INT(scalar_parse(buf_view(&out), d, &v, &err), 0);
            CHECK_INT(v.kind, VALUE_DOUBLE);
            CHECK(memcmp(&v.d, &numbers[i], sizeof(double)) == 0);
        }
}

TEST(a_text_is_plain_when_every_dialect_reads_it_as_text)
{
    CHECK(scalar_is_text(STR("hello")));
    CHECK(scalar_is_text(STR("1.2.3.4")));
    CHECK(!scalar_is_text(STR("yes")));  /* 1.1 */
    CHECK(!scalar_is_text(STR("0o17"))); /* 1.2 */
    CHECK(!scalar_is_text(STR("1e3")));  /* 1.2 */
    CHECK(!scalar_is_text(STR("1:30"))); /* 1.1 */
    CHECK(!scalar_is_text(STR("")));
    CHECK(!scalar_is_text(STR("99999999999999999999"))); /* an error in both */
}

TEST(salt_ignores_zeros_in_front_and_leaves_dates_alone)
{
    static const struct {
        const char *word, *meaning;
    } cases[] = {
        { "0644", "int 644" },  { "00", "int 0" },        { "0", "int 0" },
        { "0x1f", "int 31" },   { "0b11", "int 3" },      { "-0644", "int -420" },
        { "0888", "text" },     { "1:30", "int 90" },     { "2024-01-31", "text" },
        { "yes", "bool true" }, { "1.50", "double 1.5" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

        show(&out, str_from(cases[i].word), YAML_DIALECT_SALT);
        CHECK_STR(buf_text(&out), cases[i].meaning);
    }
}
