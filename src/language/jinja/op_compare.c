/*
 * Equality, order, membership and truth. Containers are read through the overlay, at every depth,
 * so that a changed copy compares by its current content.
 */
#include "language/jinja/ops.h"

#include <string.h>

#include "core/base/stack.h"
#include "language/jinja/container.h"
#include "language/jinja/object.h"
#include "language/jinja/render.h"
#include "language/jinja/sequence.h"
#include "language/jinja/text.h"

/* Maximum depth of compared containers. */
#define COMPARE_DEPTH_MAX 500

static int compare_equal(struct render *render, const struct value *a, const struct value *b,
                         unsigned depth, bool *ret);

static int check_compare_depth(struct render *render, unsigned depth)
{
    if (depth <= COMPARE_DEPTH_MAX && !stack_is_low())
        return 0;
    return render_fail(render, RENDER_LIMIT, "containers are nested more than %d deep",
                       COMPARE_DEPTH_MAX);
}

static bool is_compared_tuple(const struct value *v)
{
    return v->flags & VALUE_TUPLE;
}

static int compare_lists_equal(struct render *render, const struct value *a, const struct value *b,
                               unsigned depth, bool *ret)
{
    const struct value_list *left = container_list(render, a);
    const struct value_list *right = container_list(render, b);

    *ret = is_compared_tuple(a) == is_compared_tuple(b) && left->count == right->count;
    if (left == right)
        return 0;
    if (*ret && text_expect_items(render, left->count) < 0)
        return -1;
    for (size_t i = 0; *ret && i < left->count; i++)
        if (compare_equal(render, &left->items[i], &right->items[i], depth + 1, ret) < 0)
            return -1;
    return 0;
}

static int compare_maps_equal(struct render *render, const struct value *a, const struct value *b,
                              unsigned depth, bool *ret)
{
    const struct value_map *left = container_map(render, a);
    const struct value_map *right = container_map(render, b);

    *ret = left->count == right->count;
    if (left == right)
        return 0;
    for (size_t i = 0; *ret && i < left->count; i++) {
        const struct value *other = value_map_find(right, &left->pairs[i].key);

        if (!other)
            *ret = false;
        else if (compare_equal(render, &left->pairs[i].value, other, depth + 1, ret) < 0)
            return -1;
    }
    return 0;
}

static bool are_objects_equal(struct object *a, struct object *b)
{
    return a == b || (a->type == b->type && a->type->equal && a->type->equal(a, b));
}

static int compare_equal(struct render *render, const struct value *a, const struct value *b,
                         unsigned depth, bool *ret)
{
    if (a->kind == VALUE_STR && b->kind == VALUE_STR) {
        *ret = str_eq(a->s, b->s);
        return 0;
    }
    if (a->kind == VALUE_OBJECT && undefined_check(render, a) < 0)
        return -1;
    if (b->kind == VALUE_OBJECT && undefined_check(render, b) < 0)
        return -1;
    if (check_compare_depth(render, depth) < 0)
        return -1;
    if (a->kind == VALUE_LIST && b->kind == VALUE_LIST)
        return compare_lists_equal(render, a, b, depth, ret);
    if (a->kind == VALUE_MAP && b->kind == VALUE_MAP)
        return compare_maps_equal(render, a, b, depth, ret);
    if (a->kind == VALUE_OBJECT && b->kind == VALUE_OBJECT)
        *ret = are_objects_equal(a->object, b->object);
    else
        *ret = value_equal(a, b);
    return 0;
}

/* --- order ---------------------------------------------------------------------- */

static const char *const signs[] = {
    [OP_LT] = "<",
    [OP_LE] = "<=",
    [OP_GT] = ">",
    [OP_GE] = ">=",
};

static bool order_fits(enum op_compare op, int order)
{
    switch (op) {
    case OP_LT: return order < 0;
    case OP_LE: return order <= 0;
    case OP_GT: return order > 0;
    case OP_GE: return order >= 0;
    case OP_EQ:
    case OP_NE:
    case OP_IN:
    case OP_NOT_IN: break;
    }
    return false;
}

static bool is_compared_number(const struct value *v)
{
    return v->kind == VALUE_BOOL || v->kind == VALUE_INT || v->kind == VALUE_DOUBLE;
}

static int compare_by_order(struct render *render, enum op_compare op, const struct value *a,
                            const struct value *b, unsigned depth, bool *ret);

/* The first items that differ decide; a shorter list comes first. */
static int compare_lists_by_order(struct render *render, enum op_compare op, const struct value *a,
                                  const struct value *b, unsigned depth, bool *ret)
{
    const struct value_list *left = container_list(render, a);
    const struct value_list *right = container_list(render, b);
    bool same;

    if (check_compare_depth(render, depth) < 0)
        return -1;
    for (size_t i = 0; i < left->count && i < right->count; i++) {
        if (compare_equal(render, &left->items[i], &right->items[i], depth + 1, &same) < 0)
            return -1;
        if (!same)
            return compare_by_order(render, op, &left->items[i], &right->items[i], depth + 1, ret);
    }
    *ret = order_fits(op, (left->count > right->count) - (left->count < right->count));
    return 0;
}

static int compare_by_order(struct render *render, enum op_compare op, const struct value *a,
                            const struct value *b, unsigned depth, bool *ret)
{
    bool numbers = is_compared_number(a) && is_compared_number(b);
    int order;

    if (value_is_undefined(a) || value_is_undefined(b))
        return undefined_fail(render, value_is_undefined(a) ? a : b);
    if (a->kind == VALUE_LIST && b->kind == VALUE_LIST &&
        is_compared_tuple(a) == is_compared_tuple(b))
        return compare_lists_by_order(render, op, a, b, depth, ret);
    if (numbers || (a->kind == b->kind && a->kind != VALUE_LIST && a->kind != VALUE_OBJECT)) {
        if (value_compare(a, b, &order) == 0) {
            *ret = order_fits(op, order);
            return 0;
        }
        if (numbers) { /* a NaN is neither less nor more */
            *ret = false;
            return 0;
        }
    }
    return render_fail(render, RENDER_TYPE, "'%s' not supported between instances of '%s' and '%s'",
                       signs[op], op_type_name(a), op_type_name(b));
}

/* --- membership ------------------------------------------------------------------- */

static int in_str(struct render *render, const struct value *part, const struct value *whole,
                  bool *ret)
{
    if (undefined_check(render, part) < 0)
        return -1;
    if (part->kind != VALUE_STR)
        return render_fail(render, RENDER_TYPE,
                           "'in <string>' requires string as left operand, not %s",
                           op_type_name(part));
    *ret = part->s.n == 0 || memmem(whole->s.p, whole->s.n, part->s.p, part->s.n) != NULL;
    return text_expect(render, whole->s.n);
}

static int in_bytes(struct render *render, const struct value *part, const struct value *whole,
                    bool *ret)
{
    if (part->kind == VALUE_INT && part->i >= 0 && part->i < 256) {
        *ret = whole->s.n > 0 && memchr(whole->s.p, (int)part->i, whole->s.n) != NULL;
        return 0;
    }
    if (part->kind != VALUE_BYTES)
        return render_fail(render, RENDER_TYPE, "a bytes-like object is required, not '%s'",
                           op_type_name(part));
    *ret = part->s.n == 0 || memmem(whole->s.p, whole->s.n, part->s.p, part->s.n) != NULL;
    return 0;
}

static int in_list(struct render *render, const struct value *item, const struct value_list *list,
                   bool *ret)
{
    *ret = false;
    if (text_expect_items(render, list->count) < 0)
        return -1;
    for (size_t i = 0; !*ret && i < list->count; i++) {
        const struct value *other = &list->items[i];

        if (item->kind == VALUE_STR && other->kind == VALUE_STR)
            *ret = str_eq(item->s, other->s);
        else if (compare_equal(render, other, item, 0, ret) < 0)
            return -1;
    }
    return 0;
}

static int in_object(struct render *render, const struct value *item, struct object *object,
                     bool *ret)
{
    struct value_list *list;

    if (object->type == &range_type) {
        *ret = range_has((const struct range *)object, item);
        return 0;
    }
    if (!object->type->list)
        return render_fail(render, RENDER_TYPE, "argument of type '%s' is not iterable",
                           object->type->name);
    if (object->type->list(render, object, &list) < 0)
        return -1;
    return in_list(render, item, list, ret);
}

static int check_membership(struct render *render, const struct value *item, const struct value *v,
                            bool *ret)
{
    switch ((enum value_kind)v->kind) {
    case VALUE_STR: return in_str(render, item, v, ret);
    case VALUE_BYTES: return in_bytes(render, item, v, ret);
    case VALUE_LIST: return in_list(render, item, container_list(render, v), ret);
    case VALUE_OBJECT: return in_object(render, item, v->object, ret);
    case VALUE_MAP:
        if (op_check_key(render, item) < 0)
            return -1;
        *ret = value_map_find(container_map(render, v), item) != NULL;
        return 0;
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_DOUBLE:
    case VALUE_TIME: break;
    }
    return render_fail(render, RENDER_TYPE, "argument of type '%s' is not iterable",
                       op_type_name(v));
}

int op_compare(struct render *render, enum op_compare op, const struct value *a,
               const struct value *b, bool *ret)
{
    int result;

    switch (op) {
    case OP_EQ: return compare_equal(render, a, b, 0, ret);
    case OP_IN: return check_membership(render, a, b, ret);
    case OP_NE:
    case OP_NOT_IN:
        result =
            op == OP_NE ? compare_equal(render, a, b, 0, ret) : check_membership(render, a, b, ret);
        if (result == 0)
            *ret = !*ret;
        return result;
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE: break;
    }
    return compare_by_order(render, op, a, b, 0, ret);
}

static int check_key_type(struct render *render, const struct value *key, unsigned depth)
{
    if (key->kind == VALUE_LIST && is_compared_tuple(key)) {
        if (check_compare_depth(render, depth) < 0)
            return -1;
        for (size_t i = 0; i < key->list->count; i++)
            if (check_key_type(render, &key->list->items[i], depth + 1) < 0)
                return -1;
        return 0;
    }
    if (key->kind == VALUE_LIST || key->kind == VALUE_MAP)
        return render_fail(render, RENDER_TYPE, "unhashable type: '%s'", op_type_name(key));
    return undefined_check(render, key);
}

int op_check_key(struct render *render, const struct value *key)
{
    return check_key_type(render, key, 0);
}

int op_truth(struct render *render, const struct value *v, bool *ret)
{
    const struct object_type *type;
    size_t length;

    if (v->kind == VALUE_LIST)
        *ret = container_list(render, v)->count > 0;
    else if (v->kind == VALUE_MAP)
        *ret = container_map(render, v)->count > 0;
    else
        *ret = value_is_true(v);
    if (v->kind != VALUE_OBJECT)
        return 0;
    if (undefined_check(render, v) < 0)
        return -1;
    type = v->object->type;
    if (type->is_true) {
        *ret = type->is_true(v->object);
    } else if (type->length) {
        if (type->length(render, v->object, &length) < 0)
            return -1;
        *ret = length > 0;
    }
    return 0;
}
