#include "language/jmespath/jmes_function.h"

#include <math.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/base/suggest.h"
#include "core/base/utf8.h"
#include "core/data/json.h"
#include "language/jmespath/jmes_eval.h"
#include "language/jmespath/jmes_lex.h"
#include "language/jmespath/jmes_node.h"
#include "language/jmespath/jmes_order.h"
#include "language/jmespath/jmespath.h"

/* Bytes of text that cost a step. */
#define STEP_BYTES 64

/* --- types ---------------------------------------------------------------------------------- */

static const struct {
    unsigned type;
    const char *name;
} kinds[VALUE_KINDS] = {
    [VALUE_NULL] = { JMES_NULL, "null" },    [VALUE_BOOL] = { JMES_BOOLEAN, "boolean" },
    [VALUE_INT] = { JMES_NUM, "number" },    [VALUE_DOUBLE] = { JMES_NUM, "number" },
    [VALUE_STR] = { JMES_TEXT, "string" },   [VALUE_BYTES] = { JMES_OTHER, "bytes" },
    [VALUE_TIME] = { JMES_OTHER, "time" },   [VALUE_LIST] = { JMES_ARRAY, "array" },
    [VALUE_MAP] = { JMES_OBJECT, "object" }, [VALUE_OBJECT] = { JMES_OTHER, "object" },
};

static const struct {
    unsigned type;
    const char *name;
} type_names[] = {
    { JMES_NUM, "number" },
    { JMES_TEXT, "string" },
    { JMES_ARRAY, "array" },
    { JMES_OBJECT, "object" },
    { JMES_EXPRESSION, "&expression" },
    { JMES_NUMBERS, "array of numbers" },
    { JMES_TEXTS, "array of strings" },
};

/* The common type of all items; 0 when they differ, or are neither numbers nor texts. */
static unsigned find_item_type(const struct value_list *list)
{
    unsigned type = JMES_NUM | JMES_TEXT;

    for (size_t i = 0; i < list->count; i++)
        type &= kinds[list->items[i].kind].type;
    return type;
}

static unsigned find_types(const struct jmes_argument *arg)
{
    unsigned types, items;

    if (arg->expression)
        return JMES_EXPRESSION;
    types = kinds[arg->value.kind].type;
    if (types != JMES_ARRAY)
        return types;
    items = find_item_type(arg->value.list);
    return types | (items & JMES_NUM ? JMES_NUMBERS : 0) | (items & JMES_TEXT ? JMES_TEXTS : 0);
}

static void add_types(struct buf *out, unsigned types)
{
    const char *before = "";

    if (types == JMES_ANY) {
        buf_add_text(out, "a value");
        return;
    }
    for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++) {
        if (!(types & type_names[i].type))
            continue;
        buf_printf(out, "%s%s", before, type_names[i].name);
        before = " or ";
    }
}

static int fail_argument_type(struct jmes_eval *eval, const struct jmes_function *function,
                              size_t i, const struct jmes_argument *arg)
{
    AUTO_BUF struct buf expected = BUF_INIT(ERR_TEXT_SIZE);

    add_types(&expected, function->types[i < 2 ? i : 1]);
    return jmes_fail(eval->err, eval->text, eval->at, "%s() expects %s as argument %zu, got %s",
                     function->name, buf_text(&expected), i + 1,
                     arg->expression ? "&expression" : kinds[arg->value.kind].name);
}

/* --- numbers --------------------------------------------------------------------------------- */

static double get_argument_double(const struct value *v)
{
    return v->kind == VALUE_INT ? (double)v->i : v->d;
}

static int call_abs(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                    struct value *ret)
{
    const struct value *v = &args[0].value;

    (void)eval;
    (void)count;
    *ret = v->kind == VALUE_INT && v->i != INT64_MIN ? value_int(v->i < 0 ? -v->i : v->i)
                                                     : value_double(fabs(get_argument_double(v)));
    return 0;
}

/* A whole number is an int, unless it is too large for one. */
static struct value whole_number(double d)
{
    return d >= -0x1p63 && d < 0x1p63 ? value_int((int64_t)d) : value_double(d);
}

static int call_ceil(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                     struct value *ret)
{
    const struct value *v = &args[0].value;

    (void)eval;
    (void)count;
    *ret = v->kind == VALUE_INT ? *v : whole_number(ceil(v->d));
    return 0;
}

static int call_floor(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                      struct value *ret)
{
    const struct value *v = &args[0].value;

    (void)eval;
    (void)count;
    *ret = v->kind == VALUE_INT ? *v : whole_number(floor(v->d));
    return 0;
}

static struct value sum_numbers(const struct value *a, const struct value *b)
{
    int64_t sum;

    if (a->kind == VALUE_INT && b->kind == VALUE_INT && !__builtin_add_overflow(a->i, b->i, &sum))
        return value_int(sum);
    return value_double(get_argument_double(a) + get_argument_double(b));
}

static int call_sum(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                    struct value *ret)
{
    const struct value_list *list = args[0].value.list;

    (void)eval;
    (void)count;
    *ret = value_int(0);
    for (size_t i = 0; i < list->count; i++)
        *ret = sum_numbers(ret, &list->items[i]);
    return 0;
}

static int call_avg(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                    struct value *ret)
{
    const struct value_list *list = args[0].value.list;
    struct value sum;

    if (list->count == 0) {
        *ret = value_null();
        return 0;
    }
    if (call_sum(eval, args, count, &sum) < 0)
        return -1;
    *ret = value_double(get_argument_double(&sum) / (double)list->count);
    return 0;
}

static int call_to_number(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                          struct value *ret)
{
    const struct value *v = &args[0].value;
    struct err ignored;
    int64_t i;
    double d;

    (void)eval;
    (void)count;
    *ret = kinds[v->kind].type == JMES_NUM ? *v : value_null();
    if (v->kind != VALUE_STR)
        return 0;
    if (number_parse_int(v->s, &i, &ignored) == 0)
        *ret = value_int(i);
    else if (number_parse_double(v->s, &d, &ignored) == 0)
        *ret = value_double(d);
    return 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

static int finish_text(struct jmes_eval *eval, struct buf *out, struct value *ret)
{
    if (out->full)
        return err_set(eval->err, ERR_LIMIT, "a text of more than %zu bytes", JMESPATH_TEXT_MAX);
    if (jmes_eval_step(eval, out->n / STEP_BYTES) < 0)
        return -1;
    *ret = value_str(buf_copy(out, eval->arena));
    return 0;
}

static int call_join_function(struct jmes_eval *eval, const struct jmes_argument *args,
                              size_t count, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(JMESPATH_TEXT_MAX);
    const struct value_list *list = args[1].value.list;

    (void)count;
    for (size_t i = 0; i < list->count && !out.full; i++) {
        if (i > 0)
            buf_add_str(&out, args[0].value.s);
        buf_add_str(&out, list->items[i].s);
    }
    return finish_text(eval, &out, ret);
}

static int call_to_string(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                          struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(JMESPATH_TEXT_MAX);
    struct err err;

    (void)count;
    *ret = args[0].value;
    if (ret->kind == VALUE_STR)
        return 0;
    if (jmes_eval_walk(eval, ret) < 0)
        return -1;
    if (json_print(&out, ret, JSON_STYLE_ASCII | JSON_STYLE_NAN, &err) < 0)
        return jmes_fail(eval->err, eval->text, eval->at, "to_string(): %s", err.text);
    return finish_text(eval, &out, ret);
}

static int call_starts_with(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                            struct value *ret)
{
    (void)eval;
    (void)count;
    *ret = value_bool(str_starts(args[0].value.s, args[1].value.s));
    return 0;
}

static int call_ends_with(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                          struct value *ret)
{
    (void)eval;
    (void)count;
    *ret = value_bool(str_ends(args[0].value.s, args[1].value.s));
    return 0;
}

static int reverse_argument_text(struct jmes_eval *eval, struct str text, struct value *ret)
{
    size_t end = text.n;
    char *made;

    if (jmes_eval_step(eval, text.n / STEP_BYTES) < 0)
        return -1;
    made = arena_strndup(eval->arena, text.p, text.n);
    *ret = value_str((struct str){ made, text.n });
    while (text.n > 0) {
        size_t n = utf8_length_at(text);

        end -= n;
        memcpy(made + end, text.p, n);
        text = str_from_offset(text, n);
    }
    return 0;
}

/* --- containers -------------------------------------------------------------------------- */

static int call_reverse(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                        struct value *ret)
{
    const struct value *v = &args[0].value;
    struct value_list *made;

    (void)count;
    if (v->kind == VALUE_STR)
        return reverse_argument_text(eval, v->s, ret);
    made = value_list_new(eval->arena, v->list->count);
    for (size_t i = v->list->count; i > 0; i--)
        value_list_push(eval->arena, made, v->list->items[i - 1]);
    *ret = value_list(made);
    return 0;
}

static int call_length(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                       struct value *ret)
{
    const struct value *v = &args[0].value;

    (void)eval;
    (void)count;
    *ret = value_int((int64_t)(v->kind == VALUE_STR    ? utf8_count(v->s)
                               : v->kind == VALUE_LIST ? v->list->count
                                                       : v->map->count));
    return 0;
}

static int call_contains_function(struct jmes_eval *eval, const struct jmes_argument *args,
                                  size_t count, struct value *ret)
{
    const struct value *in = &args[0].value, *what = &args[1].value;
    bool found = false;

    (void)count;
    if (in->kind == VALUE_STR && what->kind == VALUE_STR)
        found = str_find(in->s, what->s, 0) != STR_NONE;
    for (size_t i = 0; in->kind == VALUE_LIST && i < in->list->count && !found; i++)
        if (jmes_eval_equal(eval, &in->list->items[i], what, &found) < 0)
            return -1;
    *ret = value_bool(found);
    return 0;
}

static int call_keys(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                     struct value *ret)
{
    const struct value_map *map = args[0].value.map;
    struct value_list *made = value_list_new(eval->arena, map->count);

    (void)count;
    for (size_t i = 0; i < map->count; i++)
        value_list_push(eval->arena, made, map->pairs[i].key);
    *ret = value_list(made);
    return 0;
}

static int call_values(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                       struct value *ret)
{
    const struct value_map *map = args[0].value.map;
    struct value_list *made = value_list_new(eval->arena, map->count);

    (void)count;
    for (size_t i = 0; i < map->count; i++)
        value_list_push(eval->arena, made, map->pairs[i].value);
    *ret = value_list(made);
    return 0;
}

static int call_merge_function(struct jmes_eval *eval, const struct jmes_argument *args,
                               size_t count, struct value *ret)
{
    struct value_map *made = value_map_new(eval->arena, 0);

    for (size_t i = 0; i < count; i++) {
        const struct value_map *map = args[i].value.map;

        for (size_t j = 0; j < map->count; j++)
            value_map_set(eval->arena, made, map->pairs[j].key, map->pairs[j].value);
    }
    *ret = value_map(made);
    return 0;
}

static int call_map(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                    struct value *ret)
{
    const struct value_list *list = args[1].value.list;
    struct value_list *made = value_list_new(eval->arena, list->count);
    struct value item;

    (void)count;
    for (size_t i = 0; i < list->count; i++) {
        if (jmes_eval_node(eval, args[0].expression, &list->items[i], &item) < 0)
            return -1;
        value_list_push(eval->arena, made, item);
    }
    *ret = value_list(made);
    return 0;
}

/* --- any value --------------------------------------------------------------------------- */

static int call_not_null(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                         struct value *ret)
{
    (void)eval;
    *ret = value_null();
    for (size_t i = 0; i < count && ret->kind == VALUE_NULL; i++)
        *ret = args[i].value;
    return 0;
}

static int call_to_array(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                         struct value *ret)
{
    struct value_list *made;

    (void)count;
    *ret = args[0].value;
    if (ret->kind == VALUE_LIST)
        return 0;
    made = value_list_new(eval->arena, 1);
    value_list_push(eval->arena, made, *ret);
    *ret = value_list(made);
    return 0;
}

static int call_type(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                     struct value *ret)
{
    (void)eval;
    (void)count;
    *ret = value_text(kinds[args[0].value.kind].name);
    return 0;
}

/* --- order ------------------------------------------------------------------------------- */

static int call_sort(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                     struct value *ret)
{
    return jmes_order_sort(eval, args[0].value.list, count > 1 ? args[1].expression : NULL, ret);
}

static int call_max(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                    struct value *ret)
{
    return jmes_order_pick(eval, args[0].value.list, count > 1 ? args[1].expression : NULL, 1, ret);
}

static int call_min(struct jmes_eval *eval, const struct jmes_argument *args, size_t count,
                    struct value *ret)
{
    return jmes_order_pick(eval, args[0].value.list, count > 1 ? args[1].expression : NULL, -1,
                           ret);
}

/* --- the table --------------------------------------------------------------------------- */

#define SORTABLE (JMES_NUMBERS | JMES_TEXTS)

/* clang-format off */
static const struct jmes_function functions[] = {
    { "abs",         call_abs,         { JMES_NUM }, 1, false },
    { "avg",         call_avg,         { JMES_NUMBERS }, 1, false },
    { "ceil",        call_ceil,        { JMES_NUM }, 1, false },
    { "contains",    call_contains_function,    { JMES_ARRAY | JMES_TEXT, JMES_ANY }, 2, false },
    { "ends_with",   call_ends_with,   { JMES_TEXT, JMES_TEXT }, 2, false },
    { "floor",       call_floor,       { JMES_NUM }, 1, false },
    { "join",        call_join_function,        { JMES_TEXT, JMES_TEXTS }, 2, false },
    { "keys",        call_keys,        { JMES_OBJECT }, 1, false },
    { "length",      call_length,      { JMES_TEXT | JMES_ARRAY | JMES_OBJECT }, 1, false },
    { "map",         call_map,         { JMES_EXPRESSION, JMES_ARRAY }, 2, false },
    { "max",         call_max,         { SORTABLE }, 1, false },
    { "max_by",      call_max,         { JMES_ARRAY, JMES_EXPRESSION }, 2, false },
    { "merge",       call_merge_function,       { JMES_OBJECT, JMES_OBJECT }, 1, true },
    { "min",         call_min,         { SORTABLE }, 1, false },
    { "min_by",      call_min,         { JMES_ARRAY, JMES_EXPRESSION }, 2, false },
    { "not_null",    call_not_null,    { JMES_ANY, JMES_ANY }, 1, true },
    { "reverse",     call_reverse,     { JMES_ARRAY | JMES_TEXT }, 1, false },
    { "sort",        call_sort,        { SORTABLE }, 1, false },
    { "sort_by",     call_sort,        { JMES_ARRAY, JMES_EXPRESSION }, 2, false },
    { "starts_with", call_starts_with, { JMES_TEXT, JMES_TEXT }, 2, false },
    { "sum",         call_sum,         { JMES_NUMBERS }, 1, false },
    { "to_array",    call_to_array,    { JMES_ANY }, 1, false },
    { "to_number",   call_to_number,   { JMES_ANY }, 1, false },
    { "to_string",   call_to_string,   { JMES_ANY }, 1, false },
    { "type",        call_type,        { JMES_ANY }, 1, false },
    { "values",      call_values,      { JMES_OBJECT }, 1, false },
};
/* clang-format on */

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

const struct jmes_function *jmes_function_find(struct str name)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (str_is(name, functions[i].name))
            return &functions[i];
    return NULL;
}

struct str jmes_function_suggest(struct str name)
{
    struct suggest suggest;

    suggest_init(&suggest, name);
    for (size_t i = 0; i < FUNCTIONS; i++)
        suggest_offer(&suggest, str_from(functions[i].name));
    return suggest_best(&suggest);
}

/* Arguments cost a step for each item, so that functions need not count. */
static int charge_argument_items(struct jmes_eval *eval, const struct jmes_argument *args,
                                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct value *v = &args[i].value;

        if (jmes_eval_step(eval, v->kind == VALUE_LIST  ? v->list->count
                                 : v->kind == VALUE_MAP ? v->map->count
                                                        : 1) < 0)
            return -1;
    }
    return 0;
}

int jmes_function_call(struct jmes_eval *eval, const struct jmes_node *node,
                       const struct jmes_argument *args, struct value *ret)
{
    const struct jmes_function *function = node->function;

    eval->at = node->at;
    for (size_t i = 0; i < node->count; i++)
        if (!(find_types(&args[i]) & function->types[i < 2 ? i : 1]))
            return fail_argument_type(eval, function, i, &args[i]);
    if (charge_argument_items(eval, args, node->count) < 0)
        return -1;
    return function->call(eval, args, node->count, ret);
}
