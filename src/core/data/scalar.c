#include "core/data/scalar.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/data/value.h"

/* Numbers in messages are cut here. */
#define SHOWN_MAX 40

/* --- words ------------------------------------------------------------------ */

#define WORD_MAX 5
/* First bytes of words: this rules out most texts. */
#define FIRST "~nNtTfFyYoO.+-"

struct word {
    const char *text;
    uint8_t kind;
    bool truth;
    bool old; /* YAML 1.1 only */
    double number;
};

/* clang-format off */
#define WORD_NULL(word)       { word, VALUE_NULL,   false, false, 0 }
#define WORD_BOOL(word, is)   { word, VALUE_BOOL,   is,    false, 0 }
#define WORD_OLD(word, is)    { word, VALUE_BOOL,   is,    true,  0 }
#define WORD_DOUBLE(word, is) { word, VALUE_DOUBLE, false, false, is }

static const struct word words[] = {
    WORD_NULL(""),      WORD_NULL("~"),     WORD_NULL("null"),  WORD_NULL("Null"),
    WORD_NULL("NULL"),
    WORD_BOOL("true", true),   WORD_BOOL("True", true),   WORD_BOOL("TRUE", true),
    WORD_BOOL("false", false), WORD_BOOL("False", false), WORD_BOOL("FALSE", false),
    WORD_OLD("yes", true),     WORD_OLD("Yes", true),     WORD_OLD("YES", true),
    WORD_OLD("no", false),     WORD_OLD("No", false),     WORD_OLD("NO", false),
    WORD_OLD("on", true),      WORD_OLD("On", true),      WORD_OLD("ON", true),
    WORD_OLD("off", false),    WORD_OLD("Off", false),    WORD_OLD("OFF", false),
    WORD_DOUBLE(".inf", INFINITY),   WORD_DOUBLE(".Inf", INFINITY),
    WORD_DOUBLE(".INF", INFINITY),   WORD_DOUBLE("+.inf", INFINITY),
    WORD_DOUBLE("+.Inf", INFINITY),  WORD_DOUBLE("+.INF", INFINITY),
    WORD_DOUBLE("-.inf", -INFINITY), WORD_DOUBLE("-.Inf", -INFINITY),
    WORD_DOUBLE("-.INF", -INFINITY),
    WORD_DOUBLE(".nan", NAN),        WORD_DOUBLE(".NaN", NAN),
    WORD_DOUBLE(".NAN", NAN),
};
/* clang-format on */

static bool parse_yaml_word(struct str text, enum yaml_dialect dialect, struct value *ret)
{
    const char first = text.n > 0 ? text.p[0] : '\0';

    if (text.n > WORD_MAX || !strchr(FIRST, first))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        const struct word *word = &words[i];

        if (word->text[0] != first || !str_is(text, word->text) ||
            (word->old && dialect == YAML_DIALECT_1_2))
            continue;
        *ret = word->kind == VALUE_NULL   ? value_null()
               : word->kind == VALUE_BOOL ? value_bool(word->truth)
                                          : value_double(word->number);
        return true;
    }
    return false;
}

/* --- shapes ----------------------------------------------------------------- */

#define DIGITS "0123456789"

/* The number of leading bytes in `set`. */
static size_t count_leading(struct str text, const char *set)
{
    size_t n = 0;

    while (n < text.n && text.p[n] != '\0' && strchr(set, text.p[n]))
        n++;
    return n;
}

static bool skip_char(struct str *text, char c)
{
    if (text->n == 0 || text->p[0] != c)
        return false;
    *text = str_from_offset(*text, 1);
    return true;
}

static bool skip_byte_in(struct str *text, const char *set)
{
    if (text->n == 0 || text->p[0] == '\0' || !strchr(set, text->p[0]))
        return false;
    *text = str_from_offset(*text, 1);
    return true;
}

/* Skip bytes of `set`; false when there is none. */
static bool skip_span(struct str *text, const char *set)
{
    size_t n = count_leading(*text, set);

    *text = str_from_offset(*text, n);
    return n > 0;
}

/* --- integers --------------------------------------------------------------- */

static int decode_scalar_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return (c | 0x20) - 'a' + 10;
}

/* `*magnitude` * base + more; false when that does not fit. */
static bool scale_magnitude(uint64_t *magnitude, uint64_t base, uint64_t more)
{
    return !__builtin_mul_overflow(*magnitude, base, magnitude) &&
           !__builtin_add_overflow(*magnitude, more, magnitude);
}

static int refuse_large_integer(struct str text, struct err *err)
{
    return err_set(err, ERR_LIMIT, "'%.*s%s' does not fit a 64-bit integer",
                   STR_ARG(str_slice(text, 0, SHOWN_MAX)), text.n > SHOWN_MAX ? "..." : "");
}

static int finish_int(struct str text, uint64_t magnitude, struct value *ret, struct err *err)
{
    bool negative = text.p[0] == '-';

    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return refuse_large_integer(text, err);
    *ret = value_int(negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude);
    return 0;
}

/* The digits of `base`, ignoring '_' between them. False when the value does not fit. */
static bool read_spaced_digits(struct str digits, uint64_t base, uint64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < digits.n; i++)
        if (digits.p[i] != '_' &&
            !scale_magnitude(ret, base, (uint64_t)decode_scalar_digit(digits.p[i])))
            return false;
    return true;
}

struct int_form {
    const char *prefix;
    const char *digits;
    const char *blank; /* digits of these alone are not a number */
    uint64_t base;
    bool bare; /* no sign before the prefix */
};

/* clang-format off */
static const struct int_form forms_1_1[] = {
    { "0b", "01_",                     "_", 2,  false },
    { "0x", "0123456789abcdefABCDEF_", "_", 16, false },
    { "0",  "01234567_",               "",  8,  false },
};

static const struct int_form forms_1_2[] = {
    { "0o", "01234567",               "", 8,  true },
    { "0x", "0123456789abcdefABCDEF", "", 16, true },
    { "",   DIGITS,                   "", 10, false },
};
/* clang-format on */

/* Sets `ret_digits` to the text after the prefix of the matching form; NULL when none matches. */
static const struct int_form *find_integer_form(const struct int_form *forms, size_t count,
                                                struct str text, struct str *ret_digits)
{
    struct str body = text;
    bool is_signed = skip_byte_in(&body, "+-");

    for (size_t i = 0; i < count; i++) {
        struct str prefix = str_from(forms[i].prefix);
        struct str digits = str_from_offset(body, prefix.n);

        if ((is_signed && forms[i].bare) || !str_starts(body, prefix))
            continue;
        if (count_leading(digits, forms[i].digits) == digits.n &&
            digits.n > count_leading(digits, forms[i].blank)) {
            *ret_digits = digits;
            return &forms[i];
        }
    }
    return NULL;
}

/* `:[0-5]?[0-9]`, once; sets the number after the colon. */
static bool skip_sixty(struct str *text, uint64_t *ret_part)
{
    struct str rest = *text;
    uint64_t part = 0;
    size_t n;

    if (!skip_char(&rest, ':'))
        return false;
    n = count_leading(rest, DIGITS);
    if (n == 0 || n > 2 || (n == 2 && rest.p[0] > '5'))
        return false;
    for (size_t i = 0; i < n; i++)
        part = part * 10 + (uint64_t)(rest.p[i] - '0');
    *text = str_from_offset(rest, n);
    *ret_part = part;
    return true;
}

/* `[-+]?[1-9][0-9_]*(:[0-5]?[0-9])*`: decimal, or base 60 with colons. Sets `ret_is` to false when
 * it is something else. */
static int parse_decimal_or_sixty(struct str text, bool *ret_is, struct value *ret, struct err *err)
{
    struct str rest = text;
    struct str first;
    uint64_t magnitude, part;
    bool fits;

    *ret_is = false;
    (void)skip_byte_in(&rest, "+-");
    first = rest;
    if (rest.n == 0 || rest.p[0] == '0' || !skip_span(&rest, DIGITS "_") || first.p[0] == '_')
        return 0;
    first.n -= rest.n;
    for (struct str probe = rest; probe.n > 0;)
        if (!skip_sixty(&probe, &part))
            return 0;
    *ret_is = true;
    fits = read_spaced_digits(first, 10, &magnitude);
    while (fits && skip_sixty(&rest, &part))
        fits = scale_magnitude(&magnitude, 60, part);
    return fits ? finish_int(text, magnitude, ret, err) : refuse_large_integer(text, err);
}

static int parse_int(struct str text, enum yaml_dialect dialect, bool *ret_is, struct value *ret,
                     struct err *err)
{
    const bool old = dialect != YAML_DIALECT_1_2;
    const struct int_form *form;
    struct str digits;
    uint64_t magnitude, base;

    form = find_integer_form(old ? forms_1_1 : forms_1_2,
                             old ? ARRAY_LEN(forms_1_1) : ARRAY_LEN(forms_1_2), text, &digits);
    *ret_is = form != NULL;
    base = form && form->base == 8 && dialect == YAML_DIALECT_SALT && text.p[0] == '0' ? 10
           : form                                                                      ? form->base
                                                                                       : 0;
    if (form && !read_spaced_digits(digits, base, &magnitude))
        return refuse_large_integer(text, err);
    if (form)
        return finish_int(text, magnitude, ret, err);
    digits = text;
    (void)skip_byte_in(&digits, "+-");
    if (str_is(digits, "0")) {
        *ret_is = true;
        *ret = value_int(0);
        return 0;
    }
    return old ? parse_decimal_or_sixty(text, ret_is, ret, err) : 0;
}

/* --- floats ----------------------------------------------------------------- */

static bool skip_exponent_1_1(struct str *text)
{
    if (!skip_byte_in(text, "eE"))
        return true;
    return skip_byte_in(text, "+-") && skip_span(text, DIGITS);
}

/* [-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)? or \.[0-9][0-9_]*([eE][-+][0-9]+)? */
static bool is_float_1_1(struct str text)
{
    struct str rest = text;

    if (skip_char(&rest, '.')) {
        if (count_leading(rest, DIGITS) == 0)
            return false;
    } else {
        (void)skip_byte_in(&rest, "+-");
        if (count_leading(rest, DIGITS) == 0 || !skip_span(&rest, DIGITS "_") ||
            !skip_char(&rest, '.'))
            return false;
    }
    (void)skip_span(&rest, DIGITS "_");
    return skip_exponent_1_1(&rest) && rest.n == 0;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool is_float_1_2(struct str text)
{
    struct str rest = text;

    (void)skip_byte_in(&rest, "+-");
    if (skip_char(&rest, '.')) {
        if (!skip_span(&rest, DIGITS))
            return false;
    } else {
        if (!skip_span(&rest, DIGITS))
            return false;
        if (skip_char(&rest, '.'))
            (void)skip_span(&rest, DIGITS);
    }
    if (skip_byte_in(&rest, "eE")) {
        (void)skip_byte_in(&rest, "+-");
        if (!skip_span(&rest, DIGITS))
            return false;
    }
    return rest.n == 0;
}

/* A decimal fraction; '_' is ignored. */
static int read_spaced_double(struct str text, double *ret, struct err *err)
{
    AUTO_BUF struct buf clean = BUF_INIT(BUF_NO_LIMIT);

    if (str_find_char(text, '_', 0) == STR_NONE)
        return number_parse_double(text, ret, err);
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] != '_')
            buf_add_char(&clean, text.p[i]);
    return number_parse_double(buf_view(&clean), ret, err);
}

/* [-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*; sets the parts before the first and the last mark. */
static bool is_sixty_float(struct str text, struct str *ret_first, struct str *ret_fraction)
{
    struct str rest = text;
    uint64_t part;

    (void)skip_byte_in(&rest, "+-");
    if (count_leading(rest, DIGITS) == 0 || !skip_span(&rest, DIGITS "_"))
        return false;
    *ret_first = (struct str){ text.p, text.n - rest.n };
    if (!skip_sixty(&rest, &part))
        return false;
    while (skip_sixty(&rest, &part))
        continue;
    *ret_fraction = rest;
    return skip_char(&rest, '.') && count_leading(rest, DIGITS "_") == rest.n;
}

static int read_sixty_float(struct str text, struct str first, struct str fraction,
                            struct value *ret, struct err *err)
{
    struct str rest = str_from_offset(text, first.n);
    double number, more = 0;
    uint64_t part;

    if (read_spaced_double(first, &number, err) < 0)
        return -1;
    number = fabs(number);
    while (skip_sixty(&rest, &part))
        number = number * 60 + (double)part;
    if (count_leading(fraction, "._") != fraction.n && read_spaced_double(fraction, &more, err) < 0)
        return -1;
    number += more;
    *ret = value_double(text.p[0] == '-' ? -number : number);
    return 0;
}

static int parse_yaml_float(struct str text, enum yaml_dialect dialect, bool *ret_is,
                            struct value *ret, struct err *err)
{
    const bool old = dialect != YAML_DIALECT_1_2;
    struct str first, fraction;
    double number;

    *ret_is = true;
    if (old && is_sixty_float(text, &first, &fraction))
        return read_sixty_float(text, first, fraction, ret, err);
    *ret_is = old ? is_float_1_1(text) : is_float_1_2(text);
    if (!*ret_is)
        return 0;
    if (read_spaced_double(text, &number, err) < 0)
        return -1;
    *ret = value_double(number);
    return 0;
}

/* --- times ------------------------------------------------------------------ */

/* Between `least` and `most` digits. */
static bool take_time_number(struct str *text, size_t least, size_t most, int *ret)
{
    size_t n = count_leading(*text, DIGITS);
    int number = 0;

    if (n < least || n > most)
        return false;
    for (size_t i = 0; i < n; i++)
        number = number * 10 + (text->p[i] - '0');
    *text = str_from_offset(*text, n);
    *ret = number;
    return true;
}

/* The fraction of a second; digits past nine are cut. */
static uint32_t take_fraction(struct str *text)
{
    size_t n = count_leading(*text, DIGITS);
    uint32_t nanoseconds = 0;

    for (size_t i = 0; i < 9; i++)
        nanoseconds = nanoseconds * 10 + (i < n ? (uint32_t)(text->p[i] - '0') : 0);
    *text = str_from_offset(*text, n);
    return nanoseconds;
}

/* Nothing, "Z", "+1", "-05:30": sets the seconds to add for UTC. */
static bool take_zone(struct str *text, int *ret_seconds)
{
    struct str rest = *text;
    int hours, minutes = 0;
    bool west;

    *ret_seconds = 0;
    if (rest.n == 0)
        return true;
    (void)skip_span(&rest, " \t");
    *text = str_from_offset(rest, 1);
    if (str_is(rest, "Z"))
        return true;
    west = rest.n > 0 && rest.p[0] == '-';
    if (!skip_byte_in(&rest, "+-") || !take_time_number(&rest, 1, 2, &hours))
        return false;
    if (skip_char(&rest, ':') && !take_time_number(&rest, 2, 2, &minutes))
        return false;
    *ret_seconds = (hours * 3600 + minutes * 60) * (west ? 1 : -1);
    *text = rest;
    return rest.n == 0 && hours < 24 && minutes < 60;
}

static bool take_clock(struct str *text, struct tm *tm, uint32_t *ret_nanoseconds, int *ret_zone)
{
    *ret_nanoseconds = 0;
    if (!take_time_number(text, 1, 2, &tm->tm_hour) || !skip_char(text, ':') ||
        !take_time_number(text, 2, 2, &tm->tm_min) || !skip_char(text, ':') ||
        !take_time_number(text, 2, 2, &tm->tm_sec))
        return false;
    if (skip_char(text, '.'))
        *ret_nanoseconds = take_fraction(text);
    return take_zone(text, ret_zone) && tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec < 60;
}

bool scalar_parse_time(struct str text, struct value *ret)
{
    struct str rest = text;
    struct tm tm = { 0 };
    uint32_t nanoseconds = 0;
    int year, month, day, zone = 0;
    time_t seconds;

    if (!take_time_number(&rest, 4, 4, &year) || !skip_char(&rest, '-') ||
        !take_time_number(&rest, 1, 2, &month) || !skip_char(&rest, '-') ||
        !take_time_number(&rest, 1, 2, &day))
        return false;
    if (rest.n == 0 && text.n != sizeof("2001-01-01") - 1)
        return false; /* a date alone has all its digits */
    if (rest.n > 0 && ((!skip_byte_in(&rest, "Tt") && !skip_span(&rest, " \t")) ||
                       !take_clock(&rest, &tm, &nanoseconds, &zone)))
        return false;
    tm.tm_year = year - 1900;
    tm.tm_mon = month - 1;
    tm.tm_mday = day;
    seconds = timegm(&tm); /* timegm turns a date that does not exist into another one */
    if (tm.tm_mday != day || tm.tm_mon != month - 1)
        return false;
    *ret = value_time((int64_t)seconds + zone, nanoseconds);
    return true;
}

/* --- all of it ---------------------------------------------------------------- */

static int parse_yaml_number(struct str text, enum yaml_dialect dialect, struct value *ret,
                             struct err *err)
{
    bool is = false;

    if (parse_int(text, dialect, &is, ret, err) < 0)
        return -1;
    if (!is && parse_yaml_float(text, dialect, &is, ret, err) < 0)
        return -1;
    if (!is && dialect == YAML_DIALECT_1_1)
        is = scalar_parse_time(text, ret);
    if (!is)
        *ret = value_str(text);
    return 0;
}

int scalar_parse(struct str text, enum yaml_dialect dialect, struct value *ret, struct err *err)
{
    if (parse_yaml_word(text, dialect, ret))
        return 0;
    if (strchr("+-.", text.p[0]) || (text.p[0] >= '0' && text.p[0] <= '9'))
        return parse_yaml_number(text, dialect, ret, err);
    *ret = value_str(text);
    return 0;
}

bool scalar_is_text(struct str text)
{
    struct value old, new;
    struct err err;

    return scalar_parse(text, YAML_DIALECT_1_1, &old, &err) == 0 && old.kind == VALUE_STR &&
           scalar_parse(text, YAML_DIALECT_1_2, &new, &err) == 0 && new.kind == VALUE_STR;
}

/* Python's text, made to fit YAML 1.1: a dot before the exponent. */
static void print_yaml_double(struct buf *out, double number)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct str shown;
    size_t e;

    if (isnan(number) || isinf(number)) {
        buf_add_text(out, isnan(number) ? ".nan" : number < 0 ? "-.inf" : ".inf");
        return;
    }
    number_print_double(number, &text);
    shown = buf_view(&text);
    e = str_find_char(shown, 'e', 0);
    if (e == STR_NONE || str_find_char(shown, '.', 0) != STR_NONE) {
        buf_add_str(out, shown);
        return;
    }
    buf_add_str(out, str_slice(shown, 0, e));
    buf_add_text(out, ".0");
    buf_add_str(out, str_from_offset(shown, e));
}

void scalar_print(struct buf *out, const struct value *v)
{
    switch (v->kind) {
    case VALUE_BOOL: buf_add_text(out, v->b ? "true" : "false"); break;
    case VALUE_INT: buf_printf(out, "%lld", (long long)v->i); break;
    case VALUE_DOUBLE: print_yaml_double(out, v->d); break;
    default: buf_add_text(out, "null"); break;
    }
}
