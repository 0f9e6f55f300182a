/*
 * Operators that compute a new value. Numbers follow Python: true and false are 1 and 0, `/` gives
 * a float, `//` and `%` round towards minus infinity.
 */
#include "language/jinja/ops.h"

#include <math.h>
#include <string.h>

#include "language/jinja/container.h"
#include "language/jinja/format.h"
#include "language/jinja/markup.h"
#include "language/jinja/object.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

/* Integers up to this size are exact as doubles. */
#define EXACT_DOUBLE_MAX (INT64_C(1) << 53)

static const char *const signs[] = {
    [OP_ADD] = "+",       [OP_SUB] = "-", [OP_MUL] = "*",           [OP_DIV] = "/",
    [OP_FLOORDIV] = "//", [OP_MOD] = "%", [OP_POW] = "** or pow()",
};

static bool is_int(const struct value *v)
{
    return v->kind == VALUE_INT || v->kind == VALUE_BOOL;
}

static bool is_operand_number(const struct value *v)
{
    return is_int(v) || v->kind == VALUE_DOUBLE;
}

static int64_t get_operand_int(const struct value *v)
{
    return v->kind == VALUE_BOOL ? v->b : v->i;
}

static double get_operand_double(const struct value *v)
{
    return v->kind == VALUE_DOUBLE ? v->d : (double)get_operand_int(v);
}

static int fail_unsupported_operand(struct render *render, enum op_binary op, const struct value *a,
                                    const struct value *b)
{
    return render_fail(render, RENDER_TYPE, "unsupported operand type(s) for %s: '%s' and '%s'",
                       signs[op], op_type_name(a), op_type_name(b));
}

/* --- integers ------------------------------------------------------------------- */

static int fail_overflow(struct render *render, enum op_binary op, int64_t a, int64_t b)
{
    return render_fail(render, RENDER_LIMIT,
                       "integer overflow: %lld %s %lld needs more than 64 bits", (long long)a,
                       op == OP_POW ? "**" : signs[op], (long long)b);
}

static int divide_ints(struct render *render, int64_t a, int64_t b, struct value *ret)
{
    bool exact = a <= EXACT_DOUBLE_MAX && a >= -EXACT_DOUBLE_MAX && b <= EXACT_DOUBLE_MAX &&
                 b >= -EXACT_DOUBLE_MAX;

    if (b == 0)
        return render_fail(render, RENDER_TYPE, "division by zero");
    *ret = value_double(exact ? (double)a / (double)b : (double)((long double)a / (long double)b));
    return 0;
}

/* Quotient and remainder rounded down; the remainder has the sign of `b`. */
static int floor_ints(struct render *render, enum op_binary op, int64_t a, int64_t b,
                      struct value *ret)
{
    int64_t quotient, rest;

    if (b == 0)
        return render_fail(render, RENDER_TYPE,
                           op == OP_MOD ? "integer modulo by zero"
                                        : "integer division or modulo by zero");
    if (b == -1) { /* the one quotient that does not fit is handled here */
        if (op == OP_MOD)
            *ret = value_int(0);
        else if (__builtin_sub_overflow(0, a, &ret->i))
            return fail_overflow(render, op, a, b);
        else
            *ret = value_int(-a);
        return 0;
    }
    quotient = a / b;
    rest = a % b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        quotient--;
        rest += b;
    }
    *ret = value_int(op == OP_MOD ? rest : quotient);
    return 0;
}

static int power_ints(struct render *render, int64_t a, int64_t b, struct value *ret)
{
    int64_t base = a, result = 1;

    for (int64_t left = b; left > 0; left >>= 1) {
        if (left & 1 && __builtin_mul_overflow(result, base, &result))
            return fail_overflow(render, OP_POW, a, b);
        if (left > 1 && __builtin_mul_overflow(base, base, &base))
            return fail_overflow(render, OP_POW, a, b);
    }
    *ret = value_int(result);
    return 0;
}

static int power_doubles(struct render *render, double a, double b, struct value *ret)
{
    double result;

    if (a == 0 && b < 0)
        return render_fail(render, RENDER_TYPE, "0.0 cannot be raised to a negative power");
    if (a < 0 && isfinite(a) && isfinite(b) && b != floor(b))
        return render_fail(render, RENDER_TYPE,
                           "a negative number cannot be raised to a fractional power");
    result = pow(a, b);
    if (isinf(result) && isfinite(a) && isfinite(b))
        return render_fail(render, RENDER_LIMIT, "numerical result out of range");
    *ret = value_double(result);
    return 0;
}

static int compute_ints(struct render *render, enum op_binary op, int64_t a, int64_t b,
                        struct value *ret)
{
    int64_t result = 0;
    bool over = false;

    switch (op) {
    case OP_ADD: over = __builtin_add_overflow(a, b, &result); break;
    case OP_SUB: over = __builtin_sub_overflow(a, b, &result); break;
    case OP_MUL: over = __builtin_mul_overflow(a, b, &result); break;
    case OP_DIV: return divide_ints(render, a, b, ret);
    case OP_FLOORDIV:
    case OP_MOD: return floor_ints(render, op, a, b, ret);
    case OP_POW:
        if (b < 0)
            return power_doubles(render, (double)a, (double)b, ret);
        return power_ints(render, a, b, ret);
    }
    if (over)
        return fail_overflow(render, op, a, b);
    *ret = value_int(result);
    return 0;
}

/* --- floats ----------------------------------------------------------------------- */

static double floor_mod(double a, double b)
{
    double rest = fmod(a, b);

    if (rest == 0)
        return copysign(0, b);
    return (b < 0) != (rest < 0) ? rest + b : rest;
}

static double floor_div(double a, double b)
{
    double rest = fmod(a, b);
    double quotient = (a - rest) / b;
    double whole;

    if (rest != 0 && (b < 0) != (rest < 0))
        quotient -= 1;
    if (quotient == 0)
        return copysign(0, a / b);
    whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

static int compute_doubles(struct render *render, enum op_binary op, double a, double b,
                           struct value *ret)
{
    static const char *const by_zero[] = {
        [OP_DIV] = "float division by zero",
        [OP_FLOORDIV] = "float floor division by zero",
        [OP_MOD] = "float modulo",
    };
    double result = 0;

    if (b == 0 && (op == OP_DIV || op == OP_FLOORDIV || op == OP_MOD))
        return render_fail(render, RENDER_TYPE, "%s", by_zero[op]);
    switch (op) {
    case OP_ADD: result = a + b; break;
    case OP_SUB: result = a - b; break;
    case OP_MUL: result = a * b; break;
    case OP_DIV: result = a / b; break;
    case OP_FLOORDIV: result = floor_div(a, b); break;
    case OP_MOD: result = floor_mod(a, b); break;
    case OP_POW: return power_doubles(render, a, b, ret);
    }
    *ret = value_double(result);
    return 0;
}

/* --- texts and lists ---------------------------------------------------------------- */

static bool is_operand_sequence(const struct value *v)
{
    return v->kind == VALUE_STR || v->kind == VALUE_BYTES || v->kind == VALUE_LIST;
}

static bool is_operand_tuple(const struct value *v)
{
    return v->flags & VALUE_TUPLE;
}

static int concat_texts(struct render *render, const struct value *a, const struct value *b,
                        struct value *ret)
{
    bool markup = value_is_markup(a) || value_is_markup(b);
    struct value left = *a, right = *b;
    char *room;
    size_t n;

    if (markup && (markup_escape(render, a, &left) < 0 || markup_escape(render, b, &right) < 0))
        return -1;
    n = left.s.n + right.s.n;
    if (text_expect(render, n) < 0)
        return -1;
    room = arena_alloc(render->arena, n + 1);
    if (left.s.n > 0)
        memcpy(room, left.s.p, left.s.n);
    if (right.s.n > 0)
        memcpy(room + left.s.n, right.s.p, right.s.n);
    room[n] = '\0';
    *ret = value_str((struct str){ room, n });
    ret->kind = a->kind;
    ret->flags = markup ? VALUE_SAFE : 0;
    return 0;
}

static int concat_lists(struct render *render, const struct value *a, const struct value *b,
                        struct value *ret)
{
    const struct value_list *left = container_list(render, a);
    const struct value_list *right = container_list(render, b);
    struct value_list *made;

    if (text_expect_items(render, left->count + right->count) < 0)
        return -1;
    made = container_new_list(render, left->count + right->count);
    value_list_add_all(render->arena, made, left);
    value_list_add_all(render->arena, made, right);
    *ret = value_list(made);
    ret->flags = a->flags & VALUE_TUPLE;
    return 0;
}

static int add_sequences(struct render *render, const struct value *a, const struct value *b,
                         struct value *ret)
{
    const char *type = op_type_name(a);

    if (a->kind == VALUE_LIST && b->kind == VALUE_LIST &&
        is_operand_tuple(a) == is_operand_tuple(b))
        return concat_lists(render, a, b, ret);
    if (a->kind == b->kind && a->kind != VALUE_LIST)
        return concat_texts(render, a, b, ret);
    if (value_is_markup(a))
        return fail_unsupported_operand(render, OP_ADD, a, b);
    return render_fail(render, RENDER_TYPE, "can only concatenate %s (not \"%s\") to %s", type,
                       op_type_name(b), type);
}

static int repeat_text(struct render *render, const struct value *v, uint64_t times,
                       struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);

    if (v->s.n > 0 && text_expect(render, times > TEXT_MAX / v->s.n ? TEXT_MAX + 1 : 0) < 0)
        return -1;
    if (v->s.n == 1)
        buf_fill(&out, v->s.p[0], times);
    for (uint64_t i = 0; v->s.n > 1 && i < times; i++)
        buf_add_str(&out, v->s);
    if (text_finish(render, &out, v->flags & VALUE_SAFE, ret) < 0)
        return -1;
    ret->kind = v->kind;
    return 0;
}

static int repeat_list(struct render *render, const struct value *v, uint64_t times,
                       struct value *ret)
{
    const struct value_list *list = container_list(render, v);
    uint64_t total = list->count * (times > ITEMS_MAX ? ITEMS_MAX + 1 : times);
    struct value_list *made;

    if (text_expect_items(render, total) < 0)
        return -1;
    made = container_new_list(render, total);
    for (uint64_t i = 0; i < total; i++)
        value_list_push(render->arena, made, list->items[i % list->count]);
    *ret = value_list(made);
    ret->flags = v->flags & VALUE_TUPLE;
    return 0;
}

static int repeat_sequence(struct render *render, const struct value *v, const struct value *count,
                           struct value *ret)
{
    uint64_t times;

    if (!is_int(count))
        return render_fail(render, RENDER_TYPE, "can't multiply sequence by non-int of type '%s'",
                           op_type_name(count));
    times = get_operand_int(count) > 0 ? (uint64_t)get_operand_int(count) : 0;
    return v->kind == VALUE_LIST ? repeat_list(render, v, times, ret)
                                 : repeat_text(render, v, times, ret);
}

/* --- operators ------------------------------------------------------------------------ */

int op_binary(struct render *render, enum op_binary op, const struct value *a,
              const struct value *b, struct value *ret)
{
    if (is_int(a) && is_int(b))
        return compute_ints(render, op, get_operand_int(a), get_operand_int(b), ret);
    if (is_operand_number(a) && is_operand_number(b))
        return compute_doubles(render, op, get_operand_double(a), get_operand_double(b), ret);
    if (op == OP_MOD && a->kind == VALUE_STR)
        return format_percent(render, a, b, ret);
    if (value_is_undefined(a) || value_is_undefined(b))
        return undefined_fail(render, value_is_undefined(a) ? a : b);
    if (op == OP_ADD && is_operand_sequence(a))
        return add_sequences(render, a, b, ret);
    if (op == OP_MUL && is_operand_sequence(a))
        return repeat_sequence(render, a, b, ret);
    if (op == OP_MUL && is_operand_sequence(b))
        return repeat_sequence(render, b, a, ret);
    return fail_unsupported_operand(render, op, a, b);
}

int op_unary(struct render *render, enum op_unary op, const struct value *a, struct value *ret)
{
    if (value_is_undefined(a))
        return undefined_fail(render, a);
    if (!is_operand_number(a))
        return render_fail(render, RENDER_TYPE, "bad operand type for unary %c: '%s'",
                           op == OP_NEG ? '-' : '+', op_type_name(a));
    if (a->kind == VALUE_DOUBLE)
        *ret = value_double(op == OP_NEG ? -a->d : a->d);
    else if (op == OP_POS)
        *ret = value_int(get_operand_int(a));
    else
        return compute_ints(render, OP_SUB, 0, get_operand_int(a), ret);
    return 0;
}

/* With autoescape on, one part that is markup makes the whole result markup. */
int op_concat(struct render *render, const struct value *parts, size_t count, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    bool markup = false;

    for (size_t i = 0; render->autoescape && i < count; i++)
        markup = markup || value_is_markup(&parts[i]);
    for (size_t i = 0; i < count; i++) {
        int result =
            markup ? markup_print(render, &parts[i], &out) : op_print(render, &parts[i], &out);

        if (result < 0)
            return -1;
    }
    return text_finish(render, &out, markup ? VALUE_SAFE : 0, ret);
}
