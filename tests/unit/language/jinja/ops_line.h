/*
 * ops_line - one line of a golden file about operations: `add [1, 2]`.
 *
 * An operation and a JSON list of its operands; {"$t": [..]} is a tuple, {"$m": ".."} markup,
 * {"$f": "inf"} a float, {"$r": [..]} a range. tools/gen-jinja-ops reads the same lines and knows
 * what Python makes of them.
 */
#ifndef TESTS_UNIT_LANGUAGE_JINJA_OPS_LINE_H
#define TESTS_UNIT_LANGUAGE_JINJA_OPS_LINE_H

#include <math.h>

#include "core/base/diag.h"
#include "core/data/json.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/sequence.h"
#include "test.h"

static struct value ops_build(struct render *render, const struct value *v)
{
    const struct value *inner;
    struct value_list *list;
    struct value made = *v;

    if (v->kind == VALUE_LIST) {
        list = container_new_list(render, v->list->count);
        for (size_t i = 0; i < v->list->count; i++)
            value_list_push(render->arena, list, ops_build(render, &v->list->items[i]));
        made = value_list(list);
    } else if ((inner = value_get(v, "$t"))) {
        made = ops_build(render, inner);
        made.flags = VALUE_TUPLE;
    } else if ((inner = value_get(v, "$m"))) {
        made = *inner;
        made.flags = VALUE_SAFE;
    } else if ((inner = value_get(v, "$f"))) {
        made = value_double(str_is(inner->s, "nan") ? (double)NAN : (double)INFINITY);
    } else if ((inner = value_get(v, "$r"))) {
        const struct value *bounds = inner->list->items;

        (void)range_new(render, bounds[0].i, bounds[1].i, bounds[2].i, &made);
    } else if (v->kind == VALUE_MAP) {
        made = value_map(container_new_map(render, v->map->count));
        for (size_t i = 0; i < v->map->count; i++)
            value_map_set(render->arena, made.map, v->map->pairs[i].key,
                          ops_build(render, &v->map->pairs[i].value));
    }
    return made;
}

static int ops_bool(int result, bool answer, struct value *ret)
{
    *ret = value_bool(answer);
    return result;
}

/* Undefined results fail, so that their message is seen. */
static int ops_defined(struct render *render, int result, struct value *ret)
{
    return result == 0 && value_is_undefined(ret) ? undefined_fail(render, ret) : result;
}

static int ops_call(struct render *render, const struct value_list *args, struct value *ret)
{
    const struct value *last = &args->items[args->count - 1];
    const struct value *named = args->count > 2 ? value_get(last, "$k") : NULL;
    struct function_call call = { .args = args->items + 2, .count = args->count - 2 };
    struct value method;

    if (named) {
        call.count--;
        call.named = named->map->pairs;
        call.named_count = named->map->count;
    }
    if (ops_defined(render, op_attribute(render, &args->items[0], args->items[1].s, &method),
                    &method) < 0)
        return -1;
    return op_call(render, &method, &call, ret);
}

/* The result of the method, and its object afterwards. */
static int ops_change(struct render *render, const struct value_list *args, struct value *ret)
{
    struct value_list *both = container_new_list(render, 2);
    struct value result;

    if (ops_call(render, args, &result) < 0)
        return -1;
    value_list_push(render->arena, both, result);
    value_list_push(render->arena, both, args->items[0]);
    *ret = value_list(both);
    ret->flags = VALUE_TUPLE;
    return 0;
}

static int ops_one(struct render *render, struct str op, const struct value_list *args,
                   struct value *ret)
{
    const struct value *a = &args->items[0];
    const struct value_list *items;
    struct str text;
    bool answer = false;
    size_t size;

    if (str_is(op, "neg"))
        return op_unary(render, OP_NEG, a, ret);
    if (str_is(op, "pos"))
        return op_unary(render, OP_POS, a, ret);
    if (str_is(op, "truth")) {
        int result = op_truth(render, a, &answer);

        return ops_bool(result, answer, ret);
    }
    if (str_is(op, "str")) {
        if (op_text(render, a, &text) < 0)
            return -1;
        *ret = value_str(text);
        return 0;
    }
    if (str_is(op, "len")) {
        if (op_length(render, a, &size) < 0)
            return -1;
        *ret = value_int((int64_t)size);
        return 0;
    }
    if (str_is(op, "list")) {
        if (op_list(render, a, &items) < 0)
            return -1;
        *ret = value_list(container_new_list(render, items->count));
        for (size_t i = 0; i < items->count; i++)
            value_list_push(render->arena, ret->list, items->items[i]);
        return 0;
    }
    *ret = *a;
    return 0;
}

static int ops_run(struct render *render, struct str op, const struct value_list *args,
                   struct value *ret)
{
    static const char *const binary[] = {
        [OP_ADD] = "add",           [OP_SUB] = "sub", [OP_MUL] = "mul", [OP_DIV] = "div",
        [OP_FLOORDIV] = "floordiv", [OP_MOD] = "mod", [OP_POW] = "pow",
    };
    static const char *const compare[] = {
        [OP_EQ] = "eq", [OP_NE] = "ne", [OP_LT] = "lt", [OP_LE] = "le",
        [OP_GT] = "gt", [OP_GE] = "ge", [OP_IN] = "in",
    };
    const struct value *a = args->items, *b = a + 1;
    bool answer = false;

    for (size_t i = 0; i < ARRAY_LEN(binary); i++)
        if (str_is(op, binary[i]))
            return op_binary(render, (enum op_binary)i, a, b, ret);
    for (size_t i = 0; i < ARRAY_LEN(compare); i++)
        if (str_is(op, compare[i])) {
            int result = op_compare(render, (enum op_compare)i, a, b, &answer);

            return ops_bool(result, answer, ret);
        }
    if (str_is(op, "attr"))
        return ops_defined(render, op_attribute(render, a, b->s, ret), ret);
    if (str_is(op, "item"))
        return ops_defined(render, op_item(render, a, b, ret), ret);
    if (str_is(op, "slice"))
        return op_slice(render, a, b, args->count > 2 ? b + 1 : NULL,
                        args->count > 3 ? b + 2 : NULL, ret);
    if (str_is(op, "call"))
        return ops_call(render, args, ret);
    if (str_is(op, "change"))
        return ops_change(render, args, ret);
    return ops_one(render, op, args, ret);
}

/* The result as repr() on one line, or "! " and the message. */
static void ops_line(struct str line, const struct jinja_options *options, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    struct str op = str_cut(&line, ' ');
    struct value json, args, result;
    struct render render;

    render_init(&render, NULL, options, &arena);
    if (json_parse(&arena, "line", line, &json, &diags) < 0) {
        buf_add_text(out, "no JSON\n");
        return;
    }
    args = ops_build(&render, &json);
    if (ops_run(&render, op, args.list, &result) < 0 || op_repr(&render, &result, &text) < 0) {
        buf_clear(&text);
        buf_printf(&text, "! %s", render.error_text);
    }
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '\n')
            buf_add_text(out, "\\n");
        else
            buf_add_char(out, text.p[i]);
    buf_add_char(out, '\n');
}

#endif
