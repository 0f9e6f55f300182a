/* The tests of Jinja2: `value is name`. */
#include "language/jinja/filters/test.h"

#include <math.h>

#include "language/jinja/argument.h"
#include "language/jinja/builtins.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/jinja.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/filters/regex.h"
#include "language/jinja/render.h"

static int set_test_result(struct value *ret, bool yes)
{
    *ret = value_bool(yes);
    return 0;
}

/* --- what it is --------------------------------------------------------------- */

static int is_undefined(struct render *render, const struct bound_args *bound, struct value *ret)
{
    bool missing;

    if (undefined_test(render, &bound->args[0], &missing) < 0)
        return -1;
    return set_test_result(ret, missing);
}

static int is_defined(struct render *render, const struct bound_args *bound, struct value *ret)
{
    if (is_undefined(render, bound, ret) < 0)
        return -1;
    return set_test_result(ret, !ret->b);
}

static int is_none(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)render;
    return set_test_result(ret, bound->args[0].kind == VALUE_NULL);
}

static int is_boolean(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)render;
    return set_test_result(ret, bound->args[0].kind == VALUE_BOOL);
}

static int test_true(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)render;
    return set_test_result(ret, bound->args[0].kind == VALUE_BOOL && bound->args[0].b);
}

static int is_false(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)render;
    return set_test_result(ret, bound->args[0].kind == VALUE_BOOL && !bound->args[0].b);
}

static int is_integer(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)render;
    return set_test_result(ret, bound->args[0].kind == VALUE_INT);
}

static int is_float(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)render;
    return set_test_result(ret, bound->args[0].kind == VALUE_DOUBLE);
}

static int test_number(struct render *render, const struct bound_args *bound, struct value *ret)
{
    enum value_kind kind = bound->args[0].kind;

    (void)render;
    return set_test_result(ret, kind == VALUE_BOOL || kind == VALUE_INT || kind == VALUE_DOUBLE);
}

static int is_string(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)render;
    return set_test_result(ret, bound->args[0].kind == VALUE_STR);
}

static int is_mapping(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)render;
    return set_test_result(ret, bound->args[0].kind == VALUE_MAP);
}

static int test_list(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)render;
    return set_test_result(ret, bound->args[0].kind == VALUE_LIST &&
                                    !(bound->args[0].flags & VALUE_TUPLE));
}

/* Has a length and items by number: Jinja2 asks for __len__ and __getitem__. */
static int test_sequence(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *v = &bound->args[0];
    bool yes = v->kind == VALUE_STR || v->kind == VALUE_LIST || v->kind == VALUE_MAP ||
               v->kind == VALUE_BYTES;

    (void)render;
    if (v->kind == VALUE_OBJECT)
        yes = v->object->type->length && v->object->type->item;
    return set_test_result(ret, yes);
}

static int is_iterable(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *v = &bound->args[0];
    bool yes = v->kind == VALUE_STR || v->kind == VALUE_LIST || v->kind == VALUE_MAP ||
               v->kind == VALUE_BYTES;

    if (value_is_undefined(v) && !render->options->lenient)
        return undefined_fail(render, v);
    if (v->kind == VALUE_OBJECT)
        yes = v->object->type->list != NULL || value_is_undefined(v);
    return set_test_result(ret, yes);
}

static int is_callable(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *v = &bound->args[0];

    (void)render;
    /* an undefined value has a __call__, which fails on use */
    return set_test_result(ret, v->kind == VALUE_OBJECT &&
                                    (v->object->type->call || value_is_undefined(v)));
}

static int is_escaped(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)render;
    return set_test_result(ret,
                           bound->args[0].kind == VALUE_STR && (bound->args[0].flags & VALUE_SAFE));
}

static int is_filter(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct builtins *builtins = render->options->builtins;

    return set_test_result(ret, bound->args[0].kind == VALUE_STR &&
                                    builtins_find(builtins->filters, bound->args[0].s));
}

static int is_test(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct builtins *builtins = render->options->builtins;

    return set_test_result(ret, bound->args[0].kind == VALUE_STR &&
                                    builtins_find(builtins->tests, bound->args[0].s));
}

/* The same object, not an equal one; scalars have no identity here. */
static int is_sameas(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *a = &bound->args[0], *b = &bound->args[1];

    if (a->kind != b->kind)
        return set_test_result(ret, false);
    if (a->kind == VALUE_LIST)
        return set_test_result(ret, container_list(render, a) == container_list(render, b));
    if (a->kind == VALUE_MAP)
        return set_test_result(ret, container_map(render, a) == container_map(render, b));
    return set_test_result(ret, value_equal(a, b));
}

/* --- text and numbers ------------------------------------------------------------ */

static int ask_method(struct render *render, const struct bound_args *bound, const char *method,
                      struct value *ret)
{
    struct value text;
    struct str s;

    if (argument_text(render, &bound->args[0], &s) < 0)
        return -1;
    text = value_str(s);
    return argument_method(render, &text, method, NULL, 0, ret);
}

static int is_lower(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return ask_method(render, bound, "islower", ret);
}

static int test_upper(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return ask_method(render, bound, "isupper", ret);
}

/* `value % by == remainder`, with Python's modulo. */
static int remainder_is(struct render *render, const struct value *v, struct value by,
                        int64_t remainder, struct value *ret)
{
    struct value rest, want = value_int(remainder);
    bool same;

    if (op_binary(render, OP_MOD, v, &by, &rest) < 0 ||
        op_compare(render, OP_EQ, &rest, &want, &same) < 0)
        return -1;
    return set_test_result(ret, same);
}

static int is_odd(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return remainder_is(render, &bound->args[0], value_int(2), 1, ret);
}

static int is_even(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return remainder_is(render, &bound->args[0], value_int(2), 0, ret);
}

static int is_divisible(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return remainder_is(render, &bound->args[0], bound->args[1], 0, ret);
}

/* --- comparisons ------------------------------------------------------------------- */

static int test_order(struct render *render, const struct bound_args *bound, enum op_compare op,
                      struct value *ret)
{
    bool yes;

    if (op_compare(render, op, &bound->args[0], &bound->args[1], &yes) < 0)
        return -1;
    return set_test_result(ret, yes);
}

static int is_eq(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return test_order(render, bound, OP_EQ, ret);
}

static int is_ne(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return test_order(render, bound, OP_NE, ret);
}

static int is_lt(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return test_order(render, bound, OP_LT, ret);
}

static int is_le(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return test_order(render, bound, OP_LE, ret);
}

static int is_gt(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return test_order(render, bound, OP_GT, ret);
}

static int is_ge(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return test_order(render, bound, OP_GE, ret);
}

static int test_in(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return test_order(render, bound, OP_IN, ret);
}

/* Salt's: from the beginning, as re.match. */
static int test_match(struct render *render, const struct bound_args *bound, struct value *ret)
{
    bool ignore, multi, found;
    const struct matcher *regex;
    struct matcher_match match;
    struct str text, pattern;

    if (argument_text(render, &bound->args[0], &text) < 0 ||
        argument_text(render, &bound->args[1], &pattern) < 0 ||
        op_truth(render, &bound->args[2], &ignore) < 0 ||
        op_truth(render, &bound->args[3], &multi) < 0 ||
        regex_new(render, pattern,
                  MATCHER_ANCHORED | (ignore ? MATCHER_IGNORE_CASE : 0u) |
                      (multi ? MATCHER_MULTILINE : 0u),
                  &regex) < 0 ||
        regex_find(render, regex, text, 0, &match, &found) < 0)
        return -1;
    *ret = value_bool(found);
    return 0;
}

/* clang-format off */
const struct function test_functions[] = {
    { "!=",          "value, other", is_ne, "the two differ" },
    { "<",           "value, other", is_lt, "the value is less" },
    { "<=",          "value, other", is_le, "the value is less or equal" },
    { "==",          "value, other", is_eq, "the two are equal" },
    { ">",           "value, other", is_gt, "the value is greater" },
    { ">=",          "value, other", is_ge, "the value is greater or equal" },
    { "boolean",     "value", is_boolean, "true or false" },
    { "callable",    "value", is_callable, "can be called" },
    { "defined",     "value", is_defined, "the value is defined" },
    { "divisibleby", "value, num", is_divisible, "divides without remainder" },
    { "eq",          "value, other", is_eq, "the two are equal" },
    { "equalto",     "value, other", is_eq, "the two are equal" },
    { "escaped",     "value", is_escaped, "text that is already markup" },
    { "even",        "value", is_even, "an even number" },
    { "false",       "value", is_false, "the boolean false" },
    { "filter",      "value", is_filter, "the name of a filter" },
    { "float",       "value", is_float, "a floating-point number" },
    { "ge",          "value, other", is_ge, "the value is greater or equal" },
    { "greaterthan", "value, other", is_gt, "the value is greater" },
    { "gt",          "value, other", is_gt, "the value is greater" },
    { "in",          "value, seq", test_in, "the value is one of the sequence" },
    { "integer",     "value", is_integer, "a whole number" },
    { "iterable",    "value", is_iterable, "a loop can iterate over it" },
    { "le",          "value, other", is_le, "the value is less or equal" },
    { "lessthan",    "value, other", is_lt, "the value is less" },
    { "list",        "value", test_list, "a list" },
    { "lower",       "value", is_lower, "text in lower case" },
    { "lt",          "value, other", is_lt, "the value is less" },
    { "mapping",     "value", is_mapping, "a map" },
    { "match",       "value, rgx, ignorecase=false, multiline=false", test_match, "text whose beginning matches the pattern" },
    { "ne",          "value, other", is_ne, "the two differ" },
    { "none",        "value", is_none, "none" },
    { "number",      "value", test_number, "a number" },
    { "odd",         "value", is_odd, "an odd number" },
    { "sameas",      "value, other", is_sameas, "the same object" },
    { "sequence",    "value", test_sequence, "has a length and items by number" },
    { "string",      "value", is_string, "text" },
    { "test",        "value", is_test, "the name of a test" },
    { "true",        "value", test_true, "the boolean true" },
    { "undefined",   "value", is_undefined, "the value is undefined" },
    { "upper",       "value", test_upper, "text in upper case" },
    { 0 },
};
/* clang-format on */
