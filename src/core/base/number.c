#include "core/base/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"

/* "-9223372036854775808" */
#define INT_DIGITS_MAX 20

#define MODE_MAX 07777U
/* More digits of a fraction change no nanosecond; this many fit 64 bits. */
#define FRACTION_DIGITS 18
/* Enough digits to distinguish any two doubles. */
#define DOUBLE_DIGITS 17
/* Room for such a double in any notation. */
#define DOUBLE_TEXT_SIZE 32
/* Python's border between 1000000.0 and 1e+16. */
#define DOUBLE_PLAIN_DIGITS 16
/* Above this a decimal is of no use to a reader. */
#define DECIMALS_BELOW 100
/* Longer invalid texts are cut in errors. */
#define QUOTE_MAX 60

struct unit {
    const char *name;
    uint64_t factor;
    bool strict; /* also in the short list of the strict durations */
};

#define US     UINT64_C(1000)
#define MS     (1000 * US)
#define S      (1000 * MS)
#define MINUTE (60 * S)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)
#define WEEK   (7 * DAY)

/* clang-format off */
static const struct unit duration_units[] = {
    { "ns",       1,      false },
    { "us",       US,     false },
    { "\u00b5s",  US,     false }, /* the micro sign */
    { "\u03bcs",  US,     false }, /* the Greek letter, which looks the same */
    { "ms",       MS,     true  },
    { "s",        S,      true  },
    { "m",        MINUTE, true  },
    { "h",        HOUR,   true  },
    { "d",        DAY,    true  },
    { "w",        WEEK,   false },
};

static const struct unit size_units[] = {
    { "",    1,                 true },
    { "b",   1,                 true },
    { "k",   UINT64_C(1) << 10, true },
    { "kb",  UINT64_C(1) << 10, true },
    { "kib", UINT64_C(1) << 10, true },
    { "m",   UINT64_C(1) << 20, true },
    { "mb",  UINT64_C(1) << 20, true },
    { "mib", UINT64_C(1) << 20, true },
    { "g",   UINT64_C(1) << 30, true },
    { "gb",  UINT64_C(1) << 30, true },
    { "gib", UINT64_C(1) << 30, true },
    { "t",   UINT64_C(1) << 40, true },
    { "tb",  UINT64_C(1) << 40, true },
    { "tib", UINT64_C(1) << 40, true },
    { "p",   UINT64_C(1) << 50, true },
    { "pb",  UINT64_C(1) << 50, true },
    { "pib", UINT64_C(1) << 50, true },
};
/* clang-format on */

static int refuse_malformed_number(struct str text, const char *wanted, struct err *err)
{
    if (text.n == 0)
        return err_set(err, ERR_INVALID, "empty text, expected %s", wanted);
    return err_set(err, ERR_INVALID, "'%.*s%s' is not %s", str_int(str_slice(text, 0, QUOTE_MAX).n),
                   text.p, text.n > QUOTE_MAX ? "..." : "", wanted);
}

static int refuse_large_number(struct str text, const char *limit, struct err *err)
{
    return err_set(err, ERR_LIMIT, "'%.*s%s' is out of range (%s)",
                   str_int(str_slice(text, 0, QUOTE_MAX).n), text.p,
                   text.n > QUOTE_MAX ? "..." : "", limit);
}

static size_t count_digits(struct str text)
{
    size_t n = 0;

    while (n < text.n && text.p[n] >= '0' && text.p[n] <= '9')
        n++;
    return n;
}

/* The value of a text of digits; false when it does not fit. */
static bool read_decimal_digits(struct str digits, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (size_t i = 0; i < digits.n; i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(digits.p[i] - '0'), &value))
            return false;
    *ret_value = value;
    return true;
}

static bool has_number_sign(struct str text)
{
    return text.n > 0 && (text.p[0] == '-' || text.p[0] == '+');
}

int number_parse_int(struct str text, int64_t *ret_value, struct err *err)
{
    struct str digits = str_from_offset(text, has_number_sign(text) ? 1 : 0);
    bool negative = has_number_sign(text) && text.p[0] == '-';
    uint64_t value;

    if (digits.n == 0 || count_digits(digits) != digits.n)
        return refuse_malformed_number(text, "a whole number", err);
    if (!read_decimal_digits(digits, &value) || value > (uint64_t)INT64_MAX + negative)
        return refuse_large_number(
            text, negative ? "at least -9223372036854775808" : "at most 9223372036854775807", err);
    *ret_value = negative ? (int64_t)(0 - value) : (int64_t)value;
    return 0;
}

int number_parse_uint(struct str text, uint64_t *ret_value, struct err *err)
{
    uint64_t value;

    if (text.n == 0 || count_digits(text) != text.n)
        return refuse_malformed_number(text, "a whole number of 0 or more", err);
    if (!read_decimal_digits(text, &value))
        return refuse_large_number(text, "at most 18446744073709551615", err);
    *ret_value = value;
    return 0;
}

/* [sign] digits [. digits] [e [sign] digits], with a digit before or after the point. */
static bool is_double(struct str text)
{
    size_t digits;

    text = str_from_offset(text, has_number_sign(text) ? 1 : 0);
    digits = count_digits(text);
    text = str_from_offset(text, digits);
    if (text.n > 0 && text.p[0] == '.') {
        size_t fraction = count_digits(str_from_offset(text, 1));

        digits += fraction;
        text = str_from_offset(text, 1 + fraction);
    }
    if (digits == 0 || text.n == 0)
        return digits > 0;
    if (text.p[0] != 'e' && text.p[0] != 'E')
        return false;
    text = str_from_offset(text, 1);
    text = str_from_offset(text, has_number_sign(text) ? 1 : 0);
    return text.n > 0 && count_digits(text) == text.n;
}

/* strtod without the locale's decimal point. The "C" locale is static in libc: nothing to free. */
static double convert_double(const char *text)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value = strtod_l(text, NULL, c);

    freelocale(c);
    return value;
}

int number_parse_double(struct str text, double *ret_value, struct err *err)
{
    char copy[NUMBER_TEXT_MAX + 1];
    double value;

    if (text.n > NUMBER_TEXT_MAX)
        return err_set(err, ERR_LIMIT, "number of %zu characters (at most %d)", text.n,
                       NUMBER_TEXT_MAX);
    if (!is_double(text))
        return refuse_malformed_number(text, "a number", err);
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    value = convert_double(copy);
    if (!isfinite(value))
        return refuse_large_number(text, "at most 1.797e308", err);
    *ret_value = value;
    return 0;
}

static bool is_unit_name(struct str name, const char *known, bool any_case)
{
    if (strlen(known) != name.n)
        return false;
    if (name.n == 0)
        return true;
    return any_case ? strncasecmp(name.p, known, name.n) == 0 : memcmp(name.p, known, name.n) == 0;
}

static const struct unit *find_number_unit(const struct unit *units, size_t count, struct str name,
                                           bool strict)
{
    for (size_t i = 0; i < count; i++)
        if ((units[i].strict || !strict) && is_unit_name(name, units[i].name, strict))
            return &units[i];
    return NULL;
}

/* The unit's name: up to the next digit or point. */
static struct str unit_name(struct str text)
{
    size_t n = 0;

    while (n < text.n && text.p[n] != '.' && !(text.p[n] >= '0' && text.p[n] <= '9'))
        n++;
    return str_slice(text, 0, n);
}

/* `digits` after the point, in units of `factor`; a fraction below 1 is cut. */
static uint64_t read_fraction(struct str digits, uint64_t factor)
{
    __extension__ unsigned __int128 product = 0;
    uint64_t value = 0, scale = 1;

    for (size_t i = 0; i < digits.n && i < FRACTION_DIGITS; i++) {
        value = value * 10 + (uint64_t)(digits.p[i] - '0');
        scale *= 10;
    }
    product = value;
    product = product * factor / scale;
    return (uint64_t)product;
}

static const char duration_wanted[] = "a duration (such as 90s, 250ms or 1h30m)";
static const char strict_wanted[] = "a duration (digits and one of ms, s, m, h, d)";
static const char duration_limit[] = "at most 292 years";

/* Add `whole`.`fraction` times the unit. */
static bool add_unit_amount(struct str whole, struct str fraction, const struct unit *unit,
                            int64_t *sum)
{
    uint64_t value;

    return read_decimal_digits(whole, &value) &&
           !__builtin_mul_overflow(value, unit->factor, &value) &&
           !__builtin_add_overflow(value, read_fraction(fraction, unit->factor), &value) &&
           !__builtin_add_overflow(*sum, value, sum);
}

int number_parse_duration(struct str text, int64_t *ret_ns, struct err *err)
{
    static const struct unit seconds = { "s", S, true };
    struct str rest = text;
    int64_t sum = 0;

    do {
        struct str whole = str_slice(rest, 0, count_digits(rest)), fraction = { rest.p, 0 }, name;
        const struct unit *unit;

        rest = str_from_offset(rest, whole.n);
        if (rest.n > 0 && rest.p[0] == '.') {
            rest = str_from_offset(rest, 1);
            fraction = str_slice(rest, 0, count_digits(rest));
            rest = str_from_offset(rest, fraction.n);
        }
        name = unit_name(rest);
        rest = str_from_offset(rest, name.n);
        unit = find_number_unit(duration_units, ARRAY_LEN(duration_units), name, false);
        if (!unit && name.n == 0 && rest.n == 0 && whole.p == text.p)
            unit = &seconds; /* a number alone */
        if (!unit || whole.n + fraction.n == 0)
            return refuse_malformed_number(text, duration_wanted, err);
        if (!add_unit_amount(whole, fraction, unit, &sum))
            return refuse_large_number(text, duration_limit, err);
    } while (rest.n > 0);
    *ret_ns = sum;
    return 0;
}

int number_parse_duration_strict(struct str text, int64_t *ret_ns, struct err *err)
{
    struct str digits = str_slice(text, 0, count_digits(text));
    struct str name = str_from_offset(text, digits.n);
    const struct unit *unit;
    int64_t sum = 0;

    unit = find_number_unit(duration_units, ARRAY_LEN(duration_units), name.n > 0 ? name : STR("s"),
                            true);
    if (!unit || digits.n == 0)
        return refuse_malformed_number(text, strict_wanted, err);
    if (!add_unit_amount(digits, (struct str){ NULL, 0 }, unit, &sum))
        return refuse_large_number(text, duration_limit, err);
    *ret_ns = sum;
    return 0;
}

int number_parse_size(struct str text, uint64_t *ret_bytes, struct err *err)
{
    struct str digits = str_slice(text, 0, count_digits(text));
    struct str name = str_from_offset(text, digits.n);
    const struct unit *unit = find_number_unit(size_units, ARRAY_LEN(size_units), name, true);
    uint64_t value;

    if (!unit || digits.n == 0)
        return refuse_malformed_number(text, "a size (digits and a unit such as K, MB or GiB)",
                                       err);
    if (!read_decimal_digits(digits, &value) || __builtin_mul_overflow(value, unit->factor, &value))
        return refuse_large_number(text, "less than 16384 PiB", err);
    *ret_bytes = value;
    return 0;
}

int number_parse_mode(struct str text, unsigned *ret_mode, struct err *err)
{
    struct str digits = str_starts(text, STR("0o")) ? str_from_offset(text, 2) : text;
    unsigned mode = 0;

    if (digits.n == 0)
        return refuse_malformed_number(text, "an octal mode", err);
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] < '0' || digits.p[i] > '7')
            return refuse_malformed_number(text, "an octal mode", err);
        mode = mode * 8 + (unsigned)(digits.p[i] - '0');
        if (mode > MODE_MAX)
            return refuse_large_number(text, "at most 7777", err);
    }
    *ret_mode = mode;
    return 0;
}

/* The next decimal above "d.ddde+dd", with as many digits; false when that takes one more. */
static bool next_decimal(char *text)
{
    for (size_t i = strcspn(text, "e"); i-- > 0;) {
        if (text[i] == '.')
            continue;
        if (text[i] != '9') {
            text[i]++;
            return true;
        }
        text[i] = '0';
    }
    return false;
}

/* `value` with `precision` digits after the point; true when that reads back as `value`. Below a
 * power of two doubles are twice as dense as above it: there the nearest decimal may fall to the
 * neighbour below although the next decimal above would do. */
static bool print_digits(double value, int precision, char text[static DOUBLE_TEXT_SIZE])
{
    (void)snprintf(text, DOUBLE_TEXT_SIZE, "%.*e", precision, value);
    if (precision > 0)
        text[1] = '.'; /* whatever the decimal point of the locale */
    return convert_double(text) == value || (next_decimal(text) && convert_double(text) == value);
}

/* Fewest significant digits that read back as `value`; returns the decimal exponent of the first.
 * Up to DBL_DIG digits a decimal survives the round trip through a double, so a shorter one shows
 * as zeros at the end; only subnormal numbers must be tried from the first digit on. */
static int shortest_digits(double value, char digits[static DOUBLE_TEXT_SIZE])
{
    char text[DOUBLE_TEXT_SIZE];
    int precision = fabs(value) < DBL_MIN ? 0 : DBL_DIG - 1;
    size_t n = 0;

    while (!print_digits(value, precision, text) && precision < DOUBLE_DIGITS)
        precision++;
    for (const char *p = text; *p != 'e'; p++)
        if (*p != '.')
            digits[n++] = *p;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    digits[n] = '\0';
    return (int)strtol(strchr(text, 'e') + 1, NULL, 10);
}

/* The decimal point follows the first `exponent` + 1 digits. */
static void print_plain_digits(const char *digits, int exponent, struct buf *out)
{
    size_t n = strlen(digits), before = (size_t)(exponent + 1);

    if (exponent < 0) {
        buf_add_text(out, "0.");
        buf_fill(out, '0', (size_t)(-exponent - 1));
        buf_add_text(out, digits);
    } else if (n > before) {
        buf_printf(out, "%.*s.%s", (int)before, digits, digits + before);
    } else {
        buf_add_text(out, digits);
        buf_fill(out, '0', before - n);
        buf_add_text(out, ".0");
    }
}

void number_print_int(int64_t value, struct buf *out)
{
    char digits[INT_DIGITS_MAX];
    size_t at = sizeof(digits);
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        digits[--at] = '-';
    buf_add(out, digits + at, sizeof(digits) - at);
}

void number_print_double(double value, struct buf *out)
{
    char digits[DOUBLE_TEXT_SIZE];
    int exponent;

    if (isnan(value)) {
        buf_add_text(out, "nan");
        return;
    }
    if (signbit(value))
        buf_add_char(out, '-');
    if (isinf(value)) {
        buf_add_text(out, "inf");
        return;
    }
    exponent = shortest_digits(fabs(value), digits);
    if (exponent >= -4 && exponent < DOUBLE_PLAIN_DIGITS) {
        print_plain_digits(digits, exponent, out);
        return;
    }
    buf_add_char(out, digits[0]);
    if (digits[1])
        buf_printf(out, ".%s", digits + 1);
    buf_printf(out, "e%+03d", exponent);
}

/* The form of a value: the first row whose unit it reaches. `part` is the second unit, or 0 for one
 * decimal. */
struct scale {
    uint64_t unit;
    const char *name;
    uint64_t part;
    const char *part_name;
};

/* clang-format off */
static const struct scale duration_scales[] = {
    { DAY,    "d",  HOUR,   "h" },
    { HOUR,   "h",  MINUTE, "m" },
    { MINUTE, "m",  S,      "s" },
    { S,      "s",  0,      NULL },
    { MS,     "ms", 0,      NULL },
    { US,     "us", 0,      NULL },
    { 1,      "ns", 0,      NULL },
};

static const struct scale size_scales[] = {
    { UINT64_C(1) << 60, "EiB", 0, NULL },
    { UINT64_C(1) << 50, "PiB", 0, NULL },
    { UINT64_C(1) << 40, "TiB", 0, NULL },
    { UINT64_C(1) << 30, "GiB", 0, NULL },
    { UINT64_C(1) << 20, "MiB", 0, NULL },
    { UINT64_C(1) << 10, "KiB", 0, NULL },
    { 1,                 "B",   0, NULL },
};

static const struct scale age_scales[] = {
    { DAY,    "d", 0, NULL },
    { HOUR,   "h", 0, NULL },
    { MINUTE, "m", 0, NULL },
    { S,      "s", 0, NULL },
};
/* clang-format on */

/* The row for `value`; the last one when it reaches none. */
static const struct scale *find_scale(const struct scale *scales, size_t count, uint64_t value)
{
    size_t i = 0;

    while (i + 1 < count && value < scales[i].unit)
        i++;
    return &scales[i];
}

static void print_scaled(const struct scale *scale, uint64_t value, struct buf *out)
{
    uint64_t whole = value / scale->unit, rest = value % scale->unit;
    uint64_t tenth = rest * 10 / scale->unit; /* fits: the largest unit is 2^60 */

    buf_printf(out, "%ju", (uintmax_t)whole);
    if (scale->part == 0 && tenth > 0 && whole < DECIMALS_BELOW)
        buf_printf(out, ".%ju", (uintmax_t)tenth);
    buf_printf(out, " %s", scale->name);
    if (scale->part > 0 && rest >= scale->part)
        buf_printf(out, " %ju %s", (uintmax_t)(rest / scale->part), scale->part_name);
}

void number_print_duration(int64_t ns, struct buf *out)
{
    uint64_t value = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

    if (ns < 0)
        buf_add_char(out, '-');
    if (value == 0)
        buf_add_text(out, "0 s");
    else
        print_scaled(find_scale(duration_scales, ARRAY_LEN(duration_scales), value), value, out);
}

void number_print_size(uint64_t bytes, struct buf *out)
{
    print_scaled(find_scale(size_scales, ARRAY_LEN(size_scales), bytes), bytes, out);
}

void number_print_age(int64_t ns, struct buf *out)
{
    uint64_t value = ns < 0 ? 0 : (uint64_t)ns;
    const struct scale *scale = find_scale(age_scales, ARRAY_LEN(age_scales), value);

    buf_printf(out, "%ju%s", (uintmax_t)(value / scale->unit), scale->name);
}
