#include "core/base/number.h"

#include <math.h>

#include "core/base/err.h"
#include "test.h"

static const struct {
    const char *text;
    int64_t value;
} ints[] = {
    { "0", 0 },
    { "-0", 0 },
    { "+7", 7 },
    { "-12", -12 },
    { "007", 7 },
    { "9223372036854775807", INT64_MAX },
    { "-9223372036854775808", INT64_MIN },
};

TEST(whole_numbers_reach_from_the_least_to_the_largest)
{
    for (size_t i = 0; i < ARRAY_LEN(ints); i++) {
        int64_t value = 99;
        struct err err;

        CHECK_INT(number_parse_int(str_from(ints[i].text), &value, &err), 0);
        CHECK_INT(value, ints[i].value);
    }
}

TEST(an_invalid_whole_number_is_refused_and_leaves_the_output_alone)
{
    static const char *const bad[] = { "", "-", "+", "1 ", " 1", "1.0", "0x1", "1e3", "--1", "a" };
    int64_t value = 99;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK_INT(number_parse_int(str_from(bad[i]), &value, &err), -1);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK_HAS(err.text, "whole number");
    }
    CHECK_INT(value, 99);
}

TEST(a_number_that_does_not_fit_is_an_error_and_never_wraps)
{
    uint64_t natural = 99;
    int64_t value = 99;
    double real = 99;
    struct err err;

    CHECK_INT(number_parse_int(STR("9223372036854775808"), &value, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_STR(err.text, "'9223372036854775808' is out of range (at most 9223372036854775807)");
    CHECK_INT(number_parse_int(STR("-9223372036854775809"), &value, &err), -1);
    CHECK_HAS(err.text, "at least -9223372036854775808");
    CHECK_INT(number_parse_uint(STR("18446744073709551616"), &natural, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_INT(number_parse_uint(STR("-1"), &natural, &err), -1);
    CHECK_INT(err.code, ERR_INVALID);
    CHECK_INT(number_parse_double(STR("1e309"), &real, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_INT(number_parse_uint(STR("18446744073709551615"), &natural, &err), 0);
    CHECK(natural == UINT64_MAX);
    CHECK(value == 99 && real == 99.0);
}

TEST(a_very_long_wrong_text_is_cut_in_the_error)
{
    AUTO_BUF struct buf text = BUF_INIT(5000);
    int64_t value;
    double real;
    struct err err;

    buf_fill(&text, 'x', 5000);
    CHECK_INT(number_parse_int(buf_view(&text), &value, &err), -1);
    CHECK_HAS(err.text, "xxx...' is not a whole number");
    CHECK_INT(number_parse_double(buf_view(&text), &real, &err), -1);
    CHECK_STR(err.text, "number of 5000 characters (at most 1000)");
}

static const struct {
    const char *text;
    double value;
} doubles[] = {
    { "0", 0 },      { "-1.5", -1.5 }, { ".5", 0.5 },    { "5.", 5 },
    { "1e3", 1000 }, { "1E-2", 0.01 }, { "+2", 2 },      { "1e+2", 100 },
    { "0.1", 0.1 },  { "1e-400", 0 },  { "00.50", 0.5 }, { "123456789.25", 123456789.25 },
};

TEST(real_numbers_are_read_as_written)
{
    static const char *const bad[] = { "",      ".",   "e3",  "1e",      "1e+", "0x1p3",
                                       "inf",   "nan", "1,5", "1.5x",    " 1",  "1..2",
                                       "1e1.5", "-",   "+.",  "infinity" };
    double value;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(doubles); i++) {
        CHECK_INT(number_parse_double(str_from(doubles[i].text), &value, &err), 0);
        CHECK(value == doubles[i].value);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_INT(number_parse_double(str_from(bad[i]), &value, &err), -1);
}

static const struct {
    const char *text;
    int64_t ns;
} durations[] = {
    { "0", 0 },
    { "90", 90 * NUMBER_NS_PER_S },
    { "1.5", 1500 * NUMBER_NS_PER_MS },
    { "250ms", 250 * NUMBER_NS_PER_MS },
    { "1.5s", 1500 * NUMBER_NS_PER_MS },
    { ".5s", 500 * NUMBER_NS_PER_MS },
    { "1h30m", 5400 * NUMBER_NS_PER_S },
    { "1h0.5m2s", 3632 * NUMBER_NS_PER_S },
    { "10us", 10000 },
    { "10\u00b5s", 10000 },
    { "10\u03bcs", 10000 },
    { "7ns", 7 },
    { "0.9ns", 0 },
    { "2d", 172800 * NUMBER_NS_PER_S },
    { "1w", 604800 * NUMBER_NS_PER_S },
    { "1.123456789s", 1123456789 },
    { "0.123456789012345678901234567890h", 444444440444 },
    { "9223372036854775807ns", INT64_MAX },
};

TEST(durations_may_have_decimals_and_several_units)
{
    for (size_t i = 0; i < ARRAY_LEN(durations); i++) {
        int64_t ns = -1;
        struct err err = { 0 };

        CHECK_INT(number_parse_duration(str_from(durations[i].text), &ns, &err), 0);
        CHECK_INT(ns, durations[i].ns);
    }
}

TEST(an_invalid_duration_is_refused)
{
    static const char *const bad[] = { "",    "s",  "h1", "1x",    "1h30", "30 s", "-1s", "+1s",
                                       "1 h", ".s", ".",  "1..5s", "1S",   "1M",   "1hh", "1e3s" };
    int64_t ns = 99;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK_INT(number_parse_duration(str_from(bad[i]), &ns, &err), -1);
        CHECK_INT(err.code, ERR_INVALID);
    }
    CHECK_INT(number_parse_duration(STR("soon"), &ns, &err), -1);
    CHECK_STR(err.text, "'soon' is not a duration (such as 90s, 250ms or 1h30m)");
    CHECK_INT(number_parse_duration(STR("9223372036854775808ns"), &ns, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_INT(number_parse_duration(STR("15250w7d"), &ns, &err), -1);
    CHECK_STR(err.text, "'15250w7d' is out of range (at most 292 years)");
    CHECK_INT(number_parse_duration(STR("99999999999999999999h"), &ns, &err), -1);
    CHECK_INT(ns, 99);
}

TEST(strict_durations_are_digits_and_one_unit_in_any_case)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: refused */
    } cases[] = {
        { "30", 30000 },   { "100ms", 100 },   { "100MS", 100 },  { "5S", 5000 }, { "2M", 120000 },
        { "1H", 3600000 }, { "1d", 86400000 }, { "0s", 0 },       { "1.5s", -1 }, { "1h30m", -1 },
        { "1w", -1 },      { "1us", -1 },      { "1ns", -1 },     { "", -1 },     { "s", -1 },
        { "1 s", -1 },     { "-1s", -1 },      { "106752d", -1 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t ns = -NUMBER_NS_PER_MS;
        struct err err;
        int result = number_parse_duration_strict(str_from(cases[i].text), &ns, &err);

        CHECK_INT(result, cases[i].ms < 0 ? -1 : 0);
        CHECK_INT(ns, cases[i].ms * NUMBER_NS_PER_MS);
    }
}

TEST(every_unit_of_size_is_a_power_of_1024)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        { "0", 0 },
        { "10", 10 },
        { "10B", 10 },
        { "64K", 65536 },
        { "64k", 65536 },
        { "1KB", 1024 },
        { "1kib", 1024 },
        { "3M", UINT64_C(3) << 20 },
        { "3MB", UINT64_C(3) << 20 },
        { "3MiB", UINT64_C(3) << 20 },
        { "2G", UINT64_C(2) << 30 },
        { "2TiB", UINT64_C(2) << 40 },
        { "16383P", UINT64_C(16383) << 50 },
    };
    static const char *const bad[] = { "", "K", "1.5M", "1 K", "-1K", "1KK", "1E", "1bb", "1iB" };
    uint64_t bytes;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_INT(number_parse_size(str_from(cases[i].text), &bytes, &err), 0);
        CHECK(bytes == cases[i].bytes);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK_INT(number_parse_size(str_from(bad[i]), &bytes, &err), -1);
        CHECK_INT(err.code, ERR_INVALID);
    }
    CHECK_INT(number_parse_size(STR("16384P"), &bytes, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
}

TEST(modes_are_octal)
{
    unsigned mode = 0;
    struct err err;

    CHECK_INT(number_parse_mode(STR("644"), &mode, &err), 0);
    CHECK_INT(mode, 0644);
    CHECK_INT(number_parse_mode(STR("0o1755"), &mode, &err), 0);
    CHECK_INT(mode, 01755);
    CHECK_INT(number_parse_mode(STR("07777"), &mode, &err), 0);
    CHECK_INT(mode, 07777);
    CHECK_INT(number_parse_mode(STR("10000"), &mode, &err), -1);
    CHECK_STR(err.text, "'10000' is out of range (at most 7777)");
    CHECK_INT(number_parse_mode(STR("0o"), &mode, &err), -1);
    CHECK_INT(number_parse_mode(STR(""), &mode, &err), -1);
    CHECK_INT(number_parse_mode(STR("688"), &mode, &err), -1);
    CHECK_STR(err.text, "'688' is not an octal mode");
    CHECK_INT(mode, 07777);
}

TEST(doubles_are_printed_as_short_as_python_does)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        { 0, "0.0" },
        { -0.0, "-0.0" },
        { 1, "1.0" },
        { -2.5, "-2.5" },
        { 0.1, "0.1" },
        { 1.0 / 3, "0.3333333333333333" },
        { 100, "100.0" },
        { 123456.789, "123456.789" },
        { 1e15, "1000000000000000.0" },
        { 1e16, "1e+16" },
        { 1.5e300, "1.5e+300" },
        { 0.0001, "0.0001" },
        { 0.00001, "1e-05" },
        { 1.25e-7, "1.25e-07" },
        { 5e-324, "5e-324" },
        { 0x1p181, "3.064991081731778e+54" },
        { 0x1p-44, "5.684341886080802e-14" },
        { 0x1p-1022, "2.2250738585072014e-308" },
        { 0x0.8p-1022, "1.1125369292536007e-308" },
        { 999999999999999.9, "999999999999999.9" },
        { 1.7976931348623157e308, "1.7976931348623157e+308" },
        { 9007199254740993.0, "9007199254740992.0" },
        { INFINITY, "inf" },
        { -INFINITY, "-inf" },
        { NAN, "nan" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT(100);

        number_print_double(cases[i].value, &out);
        CHECK_STR(buf_text(&out), cases[i].text);
    }
}

TEST(durations_are_printed_for_people)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        { 0, "0 s" },
        { 850, "850 ns" },
        { 1500, "1.5 us" },
        { 250 * NUMBER_NS_PER_MS, "250 ms" },
        { 250700000, "250 ms" },
        { 1340 * NUMBER_NS_PER_MS, "1.3 s" },
        { 42 * NUMBER_NS_PER_S, "42 s" },
        { 59990 * NUMBER_NS_PER_MS, "59.9 s" },
        { 60 * NUMBER_NS_PER_S, "1 m" },
        { 125 * NUMBER_NS_PER_S, "2 m 5 s" },
        { 3600 * NUMBER_NS_PER_S, "1 h" },
        { 11040 * NUMBER_NS_PER_S, "3 h 4 m" },
        { 100 * 3600 * NUMBER_NS_PER_S, "4 d 4 h" },
        { -1500 * NUMBER_NS_PER_MS, "-1.5 s" },
        { INT64_MIN, "-106751 d 23 h" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT(100);

        number_print_duration(cases[i].ns, &out);
        CHECK_STR(buf_text(&out), cases[i].text);
    }
}

TEST(sizes_are_printed_for_people)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        { 0, "0 B" },
        { 1023, "1023 B" },
        { 1024, "1 KiB" },
        { 1536, "1.5 KiB" },
        { 13002343, "12.4 MiB" },
        { UINT64_C(1023) << 20, "1023 MiB" },
        { UINT64_MAX, "15.9 EiB" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT(100);

        number_print_size(cases[i].bytes, &out);
        CHECK_STR(buf_text(&out), cases[i].text);
    }
}

TEST(ages_have_one_unit)
{
    static const struct {
        int64_t s;
        const char *text;
    } cases[] = {
        { -5, "0s" }, { 0, "0s" },    { 59, "59s" },
        { 60, "1m" }, { 7199, "1h" }, { 86400 * 400, "400d" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT(100);

        number_print_age(cases[i].s * NUMBER_NS_PER_S, &out);
        CHECK_STR(buf_text(&out), cases[i].text);
    }
}

TEST(integers_are_printed_to_their_last_digit)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    number_print_int(0, &out);
    buf_add_char(&out, ' ');
    number_print_int(-7, &out);
    buf_add_char(&out, ' ');
    number_print_int(INT64_MAX, &out);
    buf_add_char(&out, ' ');
    number_print_int(INT64_MIN, &out);
    CHECK_STR(buf_text(&out), "0 -7 9223372036854775807 -9223372036854775808");
}
