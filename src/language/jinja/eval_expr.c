/*
 * Each kind of node has a function that is not inlined: eval_expression
 * calls itself for every operand, and its stack frame must stay small.
 */
#include "core/base/arena.h"
#include "language/jinja/container.h"
#include "language/jinja/eval.h"
#include "language/jinja/name.h"
#include "language/jinja/ops.h"

#define APART __attribute__((noinline))

/* Maximum parts of a concatenation without an allocation. */
#define PARTS_FEW 8

APART static void name_undefined(struct eval *eval, const struct node_name *node, struct value *ret)
{
    eval->render.at = node->node.at;
    *ret = undefined_new(&eval->render, node->name->text, NULL);
}

/* Any attribute of any value; `value` may be in `room`. */
APART static const struct value *find_attribute(struct eval *eval,
                                                const struct node_attribute *node,
                                                const struct value *value, struct value *room)
{
    const struct value owner = *value;

    eval_point(eval, &node->node, node->value, &owner);
    if (owner.kind == VALUE_MAP && node->place)
        *room = undefined_new(&eval->render, node->name->text, &owner);
    else if (op_attribute(&eval->render, &owner, node->name->text, room) < 0)
        return NULL;
    return room;
}

/* The value of a key, as most attributes are; NULL: continue the search. */
static inline const struct value *
find_attribute_key(struct eval *eval, const struct node_attribute *node, const struct value *value)
{
    if (value->kind != VALUE_MAP || !node->place)
        return NULL;
    return value_map_find_near(container_map(&eval->render, value), node->name->text, node->place);
}

static inline const struct value *refer_name(struct eval *eval, const struct node_name *node,
                                             struct value *room)
{
    const struct value *slot = eval_slot(eval, node->slot);

    if (!value_is_absent(slot))
        return slot;
    name_undefined(eval, node, room);
    return room;
}

static const struct value *refer_attribute(struct eval *eval, const struct node_attribute *node,
                                           struct value *room)
{
    const struct value *value, *found;

    if (node->value->kind == NODE_NAME) {
        value = refer_name(eval, (const struct node_name *)node->value, room);
    } else {
        if (eval_descend(eval) < 0)
            return NULL;
        value = eval_reference(eval, node->value, room);
        eval_ascend(eval);
        if (!value)
            return NULL;
    }
    found = find_attribute_key(eval, node, value);
    return found ? found : find_attribute(eval, node, value, room);
}

const struct value *eval_reference(struct eval *eval, const struct node *node, struct value *room)
{
    switch ((enum node_kind)node->kind) {
    case NODE_CONST: return &((const struct node_const *)node)->value;
    case NODE_NAME: return refer_name(eval, (const struct node_name *)node, room);
    case NODE_ATTRIBUTE: return refer_attribute(eval, (const struct node_attribute *)node, room);
    default: return eval_expression(eval, node, room) < 0 ? NULL : room;
    }
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

static int check_hashable(struct eval *eval, const struct node *node, const struct value *key)
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
            check_hashable(eval, node->keys.p[i], &key) < 0 ||
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

/* `and` and `or` return the operand that decided. */
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

/* Does the value of `node` stay valid while `next` is evaluated? */
static bool stays_valid(const struct node *node, const struct node *next)
{
    return node->kind == NODE_CONST || next->kind == NODE_CONST || next->kind == NODE_NAME;
}

/* The values of two operands; the left one may be moved to `room`, which has room for two. */
static int refer_both(struct eval *eval, const struct node *left, const struct node *right,
                      struct value *room, const struct value *ret[2])
{
    ret[0] = eval_reference(eval, left, &room[0]);
    if (!ret[0])
        return -1;
    if (ret[0] != &room[0] && !stays_valid(left, right)) {
        room[0] = *ret[0];
        ret[0] = &room[0];
    }
    ret[1] = eval_reference(eval, right, &room[1]);
    return ret[1] ? 0 : -1;
}

APART static int eval_binary(struct eval *eval, const struct node_binary *node, struct value *ret)
{
    const struct value *both[2];
    struct value room[2];

    if (refer_both(eval, node->left, node->right, room, both) < 0)
        return -1;
    eval->render.at = node->node.at;
    return op_binary(&eval->render, (enum op_binary)node->node.op, both[0], both[1], ret);
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

/* `a < b < c`: each operand is evaluated once, and none after the one that decides. */
static int compare_chain(struct eval *eval, const struct node_compare *node, bool *ret)
{
    struct value left, room;
    const struct value *right;
    bool holds = true;

    if (eval_expression(eval, node->first, &left) < 0)
        return -1;
    for (uint32_t i = 0; i < node->count && holds; i++) {
        right = eval_reference(eval, node->operands.p[i], &room);
        if (!right || compare_two(eval, node, i, &left, right, &holds) < 0)
            return -1;
        left = *right;
    }
    *ret = holds;
    return 0;
}

APART static int truth_of_compare(struct eval *eval, const struct node_compare *node, bool *ret)
{
    const struct value *both[2];
    struct value room[2];

    if (node->count != 1)
        return compare_chain(eval, node, ret);
    if (refer_both(eval, node->first, node->operands.p[0], room, both) < 0)
        return -1;
    return compare_two(eval, node, 0, both[0], both[1], ret);
}

APART static int eval_compare(struct eval *eval, const struct node_compare *node, struct value *ret)
{
    bool holds;

    if (truth_of_compare(eval, node, &holds) < 0)
        return -1;
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

APART static int eval_item(struct eval *eval, const struct node_binary *node, struct value *ret)
{
    const struct value *both[2];
    struct value room[2];

    if (refer_both(eval, node->left, node->right, room, both) < 0)
        return -1;
    eval_point(eval, &node->node, node->left, both[0]);
    return op_item(&eval->render, both[0], both[1], ret);
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
    const struct value *value;
    int rc;

    if (node->kind == NODE_NAME || node->kind == NODE_CONST || node->kind == NODE_ATTRIBUTE) {
        value = eval_reference(eval, node, ret);
        if (value && value != ret)
            *ret = *value;
        return value ? 0 : -1;
    }
    if (eval_descend(eval) < 0)
        return -1;
    rc = eval_deep(eval, node, ret);
    eval_ascend(eval);
    return rc;
}

/* --- truth: of operators that give a boolean, without making a value of it ------------------- */

APART static int truth_of_logic(struct eval *eval, const struct node_binary *node, bool *ret)
{
    if (eval_truth(eval, node->left, ret) < 0)
        return -1;
    return *ret == (node->node.kind == NODE_AND) ? eval_truth(eval, node->right, ret) : 0;
}

APART static int truth_of_not(struct eval *eval, const struct node_unary *node, bool *ret)
{
    if (eval_truth(eval, node->operand, ret) < 0)
        return -1;
    *ret = !*ret;
    return 0;
}

APART static int truth_of_value(struct eval *eval, const struct node *node, bool *ret)
{
    struct value room;
    const struct value *value = eval_reference(eval, node, &room);

    if (!value)
        return -1;
    if (value->kind == VALUE_BOOL) {
        *ret = value->b;
        return 0;
    }
    eval->render.at = node->at;
    return op_truth(&eval->render, value, ret);
}

static int eval_node_truth(struct eval *eval, const struct node *node, bool *ret)
{
    switch ((enum node_kind)node->kind) {
    case NODE_COMPARE: return truth_of_compare(eval, (const struct node_compare *)node, ret);
    case NODE_NOT: return truth_of_not(eval, (const struct node_unary *)node, ret);
    default: return truth_of_logic(eval, (const struct node_binary *)node, ret);
    }
}

int eval_truth(struct eval *eval, const struct node *node, bool *ret)
{
    int rc;

    if (node->kind != NODE_COMPARE && node->kind != NODE_NOT && node->kind != NODE_AND &&
        node->kind != NODE_OR)
        return truth_of_value(eval, node, ret);
    if (eval_descend(eval) < 0)
        return -1;
    rc = eval_node_truth(eval, node, ret);
    eval_ascend(eval);
    return rc;
}
