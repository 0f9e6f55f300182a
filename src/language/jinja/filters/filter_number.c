/* Filters on numbers. */
#include "language/jinja/filters/filter.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "language/jinja/argument.h"
#include "language/jinja/function.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

/* Digits of a double that %f may print: 309 before the point, and the requested ones after it. */
#define PRECISION_MAX 300

static int filter_abs(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *v = &bound->args[0];
    struct value zero = value_int(0);
    bool negative;

    if (v->kind == VALUE_DOUBLE) {
        *ret = value_double(fabs(v->d));
        return 0;
    }
    if (v->kind != VALUE_INT && v->kind != VALUE_BOOL)
        return value_is_undefined(v)
                   ? undefined_fail(render, v)
                   : render_fail(render, RENDER_TYPE, "bad operand type for abs(): '%s'",
                                 op_type_name(v));
    if (op_compare(render, OP_LT, v, &zero, &negative) < 0)
        return -1;
    return op_unary(render, negative ? OP_NEG : OP_POS, v, ret);
}

/* Without underscores between digits, which Python allows; false when they are elsewhere. */
static bool drop_underscores(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.n; i++) {
        bool inside = i > 0 && i + 1 < text.n && text.p[i - 1] != '_' && text.p[i + 1] != '_';

        if (text.p[i] == '_' && !inside)
            return false;
        if (text.p[i] != '_')
            buf_add_char(out, text.p[i]);
    }
    return true;
}

static bool is_float_word(struct str text, const char *word)
{
    return text.n == strlen(word) && strncasecmp(text.p, word, text.n) == 0;
}

/* As float() does: blanks around, underscores, inf and nan as words. */
static bool parse_python_float(struct str text, double *ret)
{
    AUTO_BUF struct buf digits = BUF_INIT(NUMBER_TEXT_MAX);
    struct str s = str_trim(text);
    double sign = 1;
    struct err err;

    if (!drop_underscores(s, &digits) || digits.full)
        return false;
    s = buf_view(&digits);
    if (number_parse_double(s, ret, &err) == 0)
        return true;
    if (s.n > 0 && (s.p[0] == '-' || s.p[0] == '+')) {
        sign = s.p[0] == '-' ? -1 : 1;
        s = str_from_offset(s, 1);
    }
    if (is_float_word(s, "inf") || is_float_word(s, "infinity"))
        *ret = sign * (double)INFINITY;
    else if (is_float_word(s, "nan"))
        *ret = (double)NAN;
    else
        return false;
    return true;
}

static int filter_float(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *v = &bound->args[0];
    double d;

    if (value_is_undefined(v) && undefined_check(render, v) < 0)
        return -1;
    if (v->kind == VALUE_DOUBLE)
        *ret = *v;
    else if (v->kind == VALUE_INT || v->kind == VALUE_BOOL)
        *ret = value_double(v->kind == VALUE_INT ? (double)v->i : v->b);
    else if (v->kind == VALUE_STR && parse_python_float(v->s, &d))
        *ret = value_double(d);
    else
        *ret = bound->args[1];
    return 0;
}

static int decode_int_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z')
        return c - 'A' + 10;
    return 99;
}

/* The prefix of a base ("0x") is allowed for that base, and decides when the base is 0. */
static struct str drop_base_prefix(struct str s, int64_t *base)
{
    static const struct {
        char letter;
        int64_t base;
    } prefixes[] = { { 'x', 16 }, { 'o', 8 }, { 'b', 2 } };

    for (size_t i = 0; s.n > 2 && s.p[0] == '0' && i < ARRAY_LEN(prefixes); i++)
        if ((s.p[1] | 0x20) == prefixes[i].letter && (*base == prefixes[i].base || *base == 0)) {
            *base = prefixes[i].base;
            return str_from_offset(s, s.p[2] == '_' ? 3 : 2);
        }
    if (*base == 0)
        *base = 10;
    return s;
}

/* As int(text, base) does. Sets `ret_too_large` when the digits are valid and the number is too
 * large. */
static bool parse_integer(struct str text, int64_t base, int64_t *ret, bool *ret_too_large)
{
    AUTO_BUF struct buf digits = BUF_INIT(NUMBER_TEXT_MAX);
    struct str s = str_trim(text);
    bool negative = s.n > 0 && s.p[0] == '-';
    int64_t number = 0;

    if (s.n > 0 && (s.p[0] == '-' || s.p[0] == '+'))
        s = str_from_offset(s, 1);
    s = drop_base_prefix(s, &base);
    if (s.n == 0 || !drop_underscores(s, &digits) || digits.full)
        return false;
    for (size_t i = 0; i < digits.n; i++) {
        int64_t digit = decode_int_digit(digits.p[i]);

        if (digit >= base)
            return false;
        if (__builtin_mul_overflow(number, base, &number) ||
            __builtin_add_overflow(number, negative ? -digit : digit, &number)) {
            *ret_too_large = true;
            return false;
        }
    }
    *ret = number;
    return true;
}

static int int_of_double(struct render *render, double d, const struct value *fallback,
                         struct value *ret)
{
    if (isnan(d) || isinf(d))
        *ret = *fallback;
    else if (d >= -0x1p63 && d < 0x1p63)
        *ret = value_int((int64_t)d);
    else
        return render_fail(render, RENDER_TYPE, "integer overflow: %g does not fit in 64 bits", d);
    return 0;
}

static int filter_int(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *v = &bound->args[0];
    bool too_large = false;
    int64_t base, number;
    double d;

    if (argument_int(render, &bound->args[2], &base) < 0 || undefined_check(render, v) < 0)
        return -1;
    *ret = bound->args[1];
    if (v->kind == VALUE_INT || v->kind == VALUE_BOOL)
        *ret = value_int(v->kind == VALUE_INT ? v->i : v->b);
    else if (v->kind == VALUE_DOUBLE)
        return int_of_double(render, v->d, &bound->args[1], ret);
    else if (v->kind == VALUE_STR && (base == 0 || (base >= 2 && base <= 36)) &&
             parse_integer(v->s, base, &number, &too_large))
        *ret = value_int(number);
    else if (too_large)
        return render_fail(render, RENDER_TYPE, "integer overflow: '%.*s' does not fit in 64 bits",
                           STR_ARG(v->s));
    else if (v->kind == VALUE_STR && parse_python_float(v->s, &d))
        return int_of_double(render, d, &bound->args[1], ret);
    return 0;
}

/* Round half to even on the exact decimal value, as Python's round(x, n): printf does just that. */
static double round_decimal(double d, int64_t precision)
{
    AUTO_BUF struct buf text = BUF_INIT(NUMBER_TEXT_MAX);
    struct err err;
    double rounded, power;

    if (!isfinite(d) || precision > PRECISION_MAX)
        return d;
    if (precision >= 0) {
        buf_printf(&text, "%.*f", (int)precision, d);
        return number_parse_double(buf_view(&text), &rounded, &err) == 0 ? rounded : d;
    }
    if (precision < -PRECISION_MAX)
        return d < 0 ? -0.0 : 0.0;
    power = pow(10, (double)-precision);
    return nearbyint(d / power) * power;
}

static int filter_round(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *v = &bound->args[0];
    struct str method;
    int64_t precision;
    double d, power;

    if (argument_int(render, &bound->args[1], &precision) < 0 ||
        argument_text(render, &bound->args[2], &method) < 0 || argument_double(render, v, &d) < 0)
        return -1;
    if (!str_is(method, "common") && !str_is(method, "ceil") && !str_is(method, "floor"))
        return render_fail(render, RENDER_TYPE, "method must be common, ceil or floor");
    if (str_is(method, "common")) {
        *ret = v->kind == VALUE_DOUBLE || precision < 0 ? value_double(round_decimal(d, precision))
                                                        : value_double(d);
        if (v->kind != VALUE_DOUBLE) /* round() of an integer is an integer */
            *ret = value_int((int64_t)ret->d);
        if (v->kind == VALUE_INT && precision >= 0)
            *ret = *v;
        return 0;
    }
    power = pow(10, (double)precision);
    d = str_is(method, "ceil") ? ceil(d * power) : floor(d * power);
    *ret = value_double((d + 0.0) /
                        power); /* in Python this intermediate value is an integer: no -0 */
    return 0;
}

static int filter_filesize(struct render *render, const struct bound_args *bound, struct value *ret)
{
    static const char letters[] = "kMGTPEZY";
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct value number;
    double bytes, unit;
    bool binary;
    size_t i = 0;

    if (op_truth(render, &bound->args[1], &binary) < 0 ||
        filter_float(
            render,
            &(struct bound_args){ .args = (struct value[]){ bound->args[0], value_null() } },
            &number) < 0)
        return -1;
    if (number.kind != VALUE_DOUBLE)
        return render_fail(render, RENDER_TYPE, "could not convert '%s' to a size",
                           op_type_name(&bound->args[0]));
    bytes = number.d;
    unit = binary ? 1024 : 1000;
    if (bytes == 1) {
        buf_add_text(&out, "1 Byte");
    } else if (bytes < unit) {
        buf_printf(&out, "%" PRId64 " Bytes", (int64_t)bytes);
    } else {
        double step = unit * unit;

        for (; i + 1 < strlen(letters) && bytes >= step; i++)
            step *= unit;
        buf_printf(&out, "%.1f %c%s", unit * bytes / step,
                   binary ? (char)(letters[i] & ~0x20) : letters[i], binary ? "iB" : "B");
    }
    return text_finish(render, &out, 0, ret);
}

static int filter_avg(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_list *list;
    double sum = 0, number;

    if (bound->args[0].kind == VALUE_INT || bound->args[0].kind == VALUE_DOUBLE) {
        if (argument_double(render, &bound->args[0], &sum) < 0)
            return -1;
        *ret = value_double(sum);
        return 0;
    }
    if (op_list(render, &bound->args[0], &list) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        if (argument_double(render, &list->items[i], &number) < 0)
            return -1;
        sum += number;
    }
    if (list->count == 0)
        return render_fail(render, RENDER_TYPE, "no average of an empty list");
    *ret = value_double(sum / (double)list->count);
    return 0;
}

/* A number when the text is one, else the text. */
static int filter_to_num(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct err ignored;
    struct str text;
    int64_t whole;
    double number;

    *ret = bound->args[0];
    if (ret->kind != VALUE_STR)
        return undefined_check(render, ret);
    text = str_trim(ret->s);
    if (number_parse_int(text, &whole, &ignored) == 0)
        *ret = value_int(whole);
    else if (number_parse_double(text, &number, &ignored) == 0)
        *ret = value_double(number);
    return 0;
}

/* The exponent of a unit such as K, KB and KiB; -1 when unknown. */
static int unit_power(struct str unit)
{
    static const char letters[] = "bkmgtpe";
    const char first = unit.n > 0 ? (char)(unit.p[0] | 0x20) : 'b';
    const char *hit = strchr(letters, first);
    struct str rest = str_from_offset(unit, unit.n > 0 ? 1 : 0);

    if (!hit || first == '\0' || (first == 'b' && rest.n > 0))
        return -1;
    if (rest.n > 0 && (rest.p[0] | 0x20) == 'i')
        rest = str_from_offset(rest, 1);
    if (rest.n > 1 || (rest.n == 1 && (rest.p[0] | 0x20) != 'b'))
        return -1;
    return (int)(hit - letters);
}

/* Salt counts in steps of 1024, also for KB, unless handle_metric is set. Anything else is
 * 0. */
static int filter_human(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct str text, unit, fallback;
    struct err ignored;
    size_t digits = 0;
    double number;
    bool metric;
    int power;

    *ret = value_int(0);
    if (argument_text(render, &bound->args[0], &text) < 0 ||
        argument_text(render, &bound->args[1], &fallback) < 0 ||
        op_truth(render, &bound->args[2], &metric) < 0)
        return -1;
    text = str_trim(text);
    while (digits < text.n && strchr("0123456789.", text.p[digits]))
        digits++;
    unit = str_trim(str_from_offset(text, digits));
    unit = unit.n > 0 ? unit : fallback;
    power = unit_power(unit);
    if (power < 0 || number_parse_double(str_slice(text, 0, digits), &number, &ignored) < 0)
        return 0;
    metric = metric && !(unit.n > 1 && (unit.p[1] | 0x20) == 'i');
    number = trunc(number * pow(metric ? 1000 : 1024, power));
    if (number < (double)INT64_MAX)
        *ret = value_int((int64_t)number);
    return 0;
}

/* clang-format off */
const struct function filter_number_functions[] = {
    { "abs",            "x", filter_abs, "the absolute value" },
    { "avg",            "value", filter_avg, "the average of numbers" },
    { "filesizeformat", "value, binary=false", filter_filesize, "bytes as people read them: 13 kB" },
    { "float",          "value, default=0.0", filter_float, "as a floating-point number" },
    { "human_to_bytes", "value, default_unit='B', handle_metric=false", filter_human, "how many bytes 32 GB or 64KiB are" },
    { "int",            "value, default=0, base=10", filter_int, "as a whole number" },
    { "round",          "value, precision=0, method='common'", filter_round, "rounded to that many digits" },
    { "str_to_num",     "value", filter_to_num, "a number when the text is one" },
    { "to_num",         "value", filter_to_num, "a number when the text is one" },
    { 0 },
};
/* clang-format on */
