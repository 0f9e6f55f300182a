/*
 * Each kind of node has a function that is not inlined: eval_expression
 * calls itself for every operand, and its stack frame must stay small.
 */
#include "base/arena.h"
#include "jinja/container.h"
#include "jinja/eval.h"
#include "jinja/name.h"
#include "jinja/ops.h"

#define APART __attribute__((noinline))

/* Parts of a concatenation that need no allocation. */
#define PARTS_FEW 8

APART static void name_undefined(struct eval *eval, const struct node_name *node, struct value *ret)
{
    eval->render.at = node->node.at;
    *ret = undefined_new(&eval->render, node->name->text, NULL);
}

static inline int eval_name(struct eval *eval, const struct node_name *node, struct value *ret)
{
    *ret = *eval_slot(eval, node->slot);
    if (ret->kind == VALUE_OBJECT && !ret->object)
        name_undefined(eval, node, ret);
    return 0;
}

APART static int eval_list(struct eval *eval, const struct node_list *node, struct value *ret)
{
    struct value_list *list = container_new_list(&eval->render, node->items.n);
    struct value item;

    for (uint32_t i = 0; i < node->items.n; i++) {
        if (eval_expression(eval, node->items.p[i], &item) < 0)
            return -1;
        value_list_push(eval->render.arena, list, item);
    }
    *ret = value_list(list);
    if (node->node.kind == NODE_TUPLE)
        ret->flags |= VALUE_TUPLE;
    return render_step(&eval->render, 1);
}

static int check_key(struct eval *eval, const struct node *node, const struct value *key)
{
    bool list = key->kind == VALUE_LIST && !(key->flags & VALUE_TUPLE);

    eval->render.at = node->at;
    if (list || key->kind == VALUE_MAP)
        return render_fail(&eval->render, RENDER_TYPE, "unhashable type: '%s'", op_type_name(key));
    return undefined_check(&eval->render, key);
}

APART static int eval_dict(struct eval *eval, const struct node_dict *node, struct value *ret)
{
    struct value_map *map = container_new_map(&eval->render, node->keys.n);
    struct value key, value;

    for (uint32_t i = 0; i < node->keys.n; i++) {
        if (eval_expression(eval, node->keys.p[i], &key) < 0 ||
            check_key(eval, node->keys.p[i], &key) < 0 ||
            eval_expression(eval, node->values.p[i], &value) < 0)
            return -1;
        value_map_set(eval->render.arena, map, key, value);
    }
    *ret = value_map(map);
    return render_step(&eval->render, 1);
}

APART static int eval_not(struct eval *eval, const struct node_unary *node, struct value *ret)
{
    bool truth;

    if (eval_truth(eval, node->operand, &truth) < 0)
        return -1;
    *ret = value_bool(!truth);
    return 0;
}

APART static int eval_unary(struct eval *eval, const struct node_unary *node, struct value *ret)
{
    struct value operand;

    if (eval_expression(eval, node->operand, &operand) < 0)
        return -1;
    eval->render.at = node->node.at;
    return op_unary(&eval->render, (enum op_unary)node->node.op, &operand, ret);
}

APART static int eval_binary(struct eval *eval, const struct node_binary *node, struct value *ret)
{
    struct value left, right;

    if (eval_expression(eval, node->left, &left) < 0 ||
        eval_expression(eval, node->right, &right) < 0)
        return -1;
    eval->render.at = node->node.at;
    return op_binary(&eval->render, (enum op_binary)node->node.op, &left, &right, ret);
}

/* `and` and `or` give the operand that decided. */
APART static int eval_logic(struct eval *eval, const struct node_binary *node, struct value *ret)
{
    struct value left;
    bool truth;

    if (eval_expression(eval, node->left, &left) < 0)
        return -1;
    eval->render.at = node->left->at;
    if (op_truth(&eval->render, &left, &truth) < 0)
        return -1;
    if (truth == (node->node.kind == NODE_AND))
        return eval_expression(eval, node->right, ret);
    *ret = left;
    return 0;
}

/* The value of a variable or a constant where it is, of anything else in `room`; NULL: it failed.
 * It is valid until another expression is evaluated, which may change the variable (a loop that
 * calls itself). */
static inline const struct value *eval_place(struct eval *eval, const struct node *node,
                                             struct value *room)
{
    const struct value *slot;

    if (node->kind == NODE_CONST)
        return &((const struct node_const *)node)->value;
    if (node->kind == NODE_NAME) {
        slot = eval_slot(eval, ((const struct node_name *)node)->slot);
        if (slot->kind != VALUE_OBJECT || slot->object)
            return slot;
    }
    return eval_expression(eval, node, room) < 0 ? NULL : room;
}

static int compare_two(struct eval *eval, const struct node_compare *node, uint32_t i,
                       const struct value *left, const struct value *right, bool *ret)
{
    const enum op_compare op = (enum op_compare)node->ops[i];

    if (op == OP_EQ && left->kind == VALUE_STR && right->kind == VALUE_STR) {
        *ret = str_eq(left->s, right->s);
        return 0;
    }
    eval->render.at = node->node.at;
    return op_compare(&eval->render, op, left, right, ret);
}

APART static int eval_compare(struct eval *eval, const struct node_compare *node, struct value *ret)
{
    struct value left, room;
    const struct value *right;
    bool holds = true;

    if (eval_expression(eval, node->first, &left) < 0)
        return -1;
    for (uint32_t i = 0; i < node->count && holds; i++) {
        right = eval_place(eval, node->operands.p[i], &room);
        if (!right || compare_two(eval, node, i, &left, right, &holds) < 0)
            return -1;
        if (i + 1 < node->count)
            left = *right;
    }
    *ret = value_bool(holds);
    return 0;
}

APART static int eval_concat(struct eval *eval, const struct node_list *node, struct value *ret)
{
    struct value few[PARTS_FEW];
    struct value *parts = few;

    if (node->items.n > PARTS_FEW)
        parts = ARENA_ARRAY(eval->render.arena, struct value, node->items.n);
    for (uint32_t i = 0; i < node->items.n; i++)
        if (eval_expression(eval, node->items.p[i], &parts[i]) < 0)
            return -1;
    eval->render.at = node->node.at;
    return op_concat(&eval->render, parts, node->items.n, ret);
}

APART static int eval_attribute(struct eval *eval, const struct node_attribute *node,
                                struct value *ret)
{
    struct value room;
    const struct value *value = eval_place(eval, node->value, &room);

    if (!value)
        return -1;
    eval->render.at = node->node.at;
    /* fast path for the common case: a key of a map that hides no method */
    if (value->kind == VALUE_MAP && !node->name->methods[VALUE_MAP] &&
        node->name->text.p[0] != '_') {
        const struct value key = { .kind = VALUE_STR, .s = node->name->text };
        const struct value *found = value_map_find(container_map(&eval->render, value), &key);

        if (found) {
            *ret = *found;
            return 0;
        }
    }
    room = *value; /* `ret` may be where it is */
    return op_attribute(&eval->render, &room, node->name->text, ret);
}

APART static int eval_item(struct eval *eval, const struct node_binary *node, struct value *ret)
{
    struct value value, key;

    if (eval_expression(eval, node->left, &value) < 0 ||
        eval_expression(eval, node->right, &key) < 0)
        return -1;
    eval->render.at = node->node.at;
    return op_item(&eval->render, &value, &key, ret);
}

APART static int eval_slice(struct eval *eval, const struct node_slice *node, struct value *ret)
{
    struct value value, start, stop, step;

    if (eval_expression(eval, node->value, &value) < 0 ||
        (node->start && eval_expression(eval, node->start, &start) < 0) ||
        (node->stop && eval_expression(eval, node->stop, &stop) < 0) ||
        (node->step && eval_expression(eval, node->step, &step) < 0))
        return -1;
    eval->render.at = node->node.at;
    return op_slice(&eval->render, &value, node->start ? &start : NULL, node->stop ? &stop : NULL,
                    node->step ? &step : NULL, ret);
}

APART static int eval_cond(struct eval *eval, const struct node_cond *node, struct value *ret)
{
    bool truth;

    if (eval_truth(eval, node->test, &truth) < 0)
        return -1;
    if (truth)
        return eval_expression(eval, node->then, ret);
    if (node->otherwise)
        return eval_expression(eval, node->otherwise, ret);
    *ret = undefined_because(&eval->render, true, node->missing);
    return 0;
}

static int eval_deep(struct eval *eval, const struct node *node, struct value *ret)
{
    switch ((enum node_kind)node->kind) {
    case NODE_LIST:
    case NODE_TUPLE: return eval_list(eval, (const struct node_list *)node, ret);
    case NODE_DICT: return eval_dict(eval, (const struct node_dict *)node, ret);
    case NODE_NOT: return eval_not(eval, (const struct node_unary *)node, ret);
    case NODE_UNARY: return eval_unary(eval, (const struct node_unary *)node, ret);
    case NODE_BINARY: return eval_binary(eval, (const struct node_binary *)node, ret);
    case NODE_AND:
    case NODE_OR: return eval_logic(eval, (const struct node_binary *)node, ret);
    case NODE_COMPARE: return eval_compare(eval, (const struct node_compare *)node, ret);
    case NODE_CONCAT: return eval_concat(eval, (const struct node_list *)node, ret);
    case NODE_ATTRIBUTE: return eval_attribute(eval, (const struct node_attribute *)node, ret);
    case NODE_ITEM: return eval_item(eval, (const struct node_binary *)node, ret);
    case NODE_SLICE: return eval_slice(eval, (const struct node_slice *)node, ret);
    case NODE_CALL: return eval_call(eval, (const struct node_call *)node, NULL, ret);
    case NODE_FILTER:
    case NODE_TEST: return eval_apply(eval, (const struct node_apply *)node, ret);
    case NODE_COND: return eval_cond(eval, (const struct node_cond *)node, ret);
    default: return render_fail(&eval->render, RENDER_TYPE, "not an expression");
    }
}

int eval_fail_deep(struct eval *eval)
{
    if (eval->levels >= EVAL_LEVELS_MAX)
        return render_fail(&eval->render, RENDER_LIMIT,
                           "expressions and calls are nested deeper than the limit of %d",
                           EVAL_LEVELS_MAX);
    return render_fail(&eval->render, RENDER_LIMIT, STACK_IS_LOW, STACK_RESERVE);
}

int eval_expression(struct eval *eval, const struct node *node, struct value *ret)
{
    int rc;

    if (node->kind == NODE_NAME)
        return eval_name(eval, (const struct node_name *)node, ret);
    if (node->kind == NODE_CONST) {
        *ret = ((const struct node_const *)node)->value;
        return 0;
    }
    if (eval_descend(eval) < 0)
        return -1;
    rc = eval_deep(eval, node, ret);
    eval_ascend(eval);
    return rc;
}

int eval_truth(struct eval *eval, const struct node *node, bool *ret)
{
    struct value value;

    if (eval_expression(eval, node, &value) < 0)
        return -1;
    if (value.kind == VALUE_BOOL) {
        *ret = value.b;
        return 0;
    }
    eval->render.at = node->at;
    return op_truth(&eval->render, &value, ret);
}
