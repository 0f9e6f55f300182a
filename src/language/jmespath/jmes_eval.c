#include "language/jmespath/jmes_eval.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "language/jmespath/jmes_function.h"
#include "language/jmespath/jmes_lex.h"
#include "language/jmespath/jmes_node.h"
#include "language/jmespath/jmes_parse.h"
#include "language/jmespath/jmespath.h"

typedef int eval_fn(struct jmes_eval *eval, const struct jmes_node *node,
                    const struct value *current, struct value *ret);

/* --- steps, truth, equality ----------------------------------------------------------------- */

int jmes_eval_step(struct jmes_eval *eval, uint64_t n)
{
    if (n > JMESPATH_STEPS_MAX || *eval->steps > JMESPATH_STEPS_MAX - n)
        return err_set(eval->err, ERR_LIMIT, "the expression takes more than %llu steps",
                       (unsigned long long)JMESPATH_STEPS_MAX);
    *eval->steps += n;
    return 0;
}

int jmes_eval_walk(struct jmes_eval *eval, const struct value *v)
{
    if (jmes_eval_step(eval, 1) < 0)
        return -1;
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        if (jmes_eval_walk(eval, &v->list->items[i]) < 0)
            return -1;
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        if (jmes_eval_walk(eval, &v->map->pairs[i].value) < 0)
            return -1;
    return 0;
}

/* Numbers are always true, zero as well. */
static bool is_true_value(const struct value *v)
{
    return v->kind == VALUE_INT || v->kind == VALUE_DOUBLE || value_is_true(v);
}

static int compare_jmes_lists(struct jmes_eval *eval, const struct value_list *a,
                              const struct value_list *b, bool *ret)
{
    *ret = a->count == b->count;
    for (size_t i = 0; *ret && i < a->count; i++)
        if (jmes_eval_equal(eval, &a->items[i], &b->items[i], ret) < 0)
            return -1;
    return 0;
}

static int compare_jmes_maps(struct jmes_eval *eval, const struct value_map *a,
                             const struct value_map *b, bool *ret)
{
    *ret = a->count == b->count;
    for (size_t i = 0; *ret && i < a->count; i++) {
        const struct value *other = value_map_find(b, &a->pairs[i].key);

        *ret = other;
        if (other && jmes_eval_equal(eval, &a->pairs[i].value, other, ret) < 0)
            return -1;
    }
    return 0;
}

int jmes_eval_equal(struct jmes_eval *eval, const struct value *a, const struct value *b, bool *ret)
{
    if (jmes_eval_step(eval, 1) < 0)
        return -1;
    if (a->kind == VALUE_LIST && b->kind == VALUE_LIST)
        return compare_jmes_lists(eval, a->list, b->list, ret);
    if (a->kind == VALUE_MAP && b->kind == VALUE_MAP)
        return compare_jmes_maps(eval, a->map, b->map, ret);
    *ret = (a->kind == VALUE_BOOL) == (b->kind == VALUE_BOOL) && value_equal(a, b);
    return 0;
}

/* --- leaves ---------------------------------------------------------------------------------- */

static int eval_current(struct jmes_eval *eval, const struct jmes_node *node,
                        const struct value *current, struct value *ret)
{
    (void)eval;
    (void)node;
    *ret = *current;
    return 0;
}

static int eval_field(struct jmes_eval *eval, const struct jmes_node *node,
                      const struct value *current, struct value *ret)
{
    const struct value *found = value_get_str(current, node->value.s);

    (void)eval;
    *ret = found ? *found : value_null();
    return 0;
}

static int eval_literal(struct jmes_eval *eval, const struct jmes_node *node,
                        const struct value *current, struct value *ret)
{
    (void)eval;
    (void)current;
    *ret = node->value;
    return 0;
}

/* --- chains, indices, slices ------------------------------------------------------------------ */

static int eval_chain(struct jmes_eval *eval, const struct jmes_node *node,
                      const struct value *current, struct value *ret)
{
    struct value left;

    if (jmes_eval_node(eval, node->left, current, &left) < 0)
        return -1;
    return jmes_eval_node(eval, node->right, &left, ret);
}

static int eval_index(struct jmes_eval *eval, const struct jmes_node *node,
                      const struct value *current, struct value *ret)
{
    int64_t index = node->value.i;
    struct value left;

    if (jmes_eval_node(eval, node->left, current, &left) < 0)
        return -1;
    *ret = value_null();
    if (left.kind != VALUE_LIST)
        return 0;
    if (index < 0)
        index += (int64_t)left.list->count;
    if (index >= 0 && (size_t)index < left.list->count)
        *ret = left.list->items[index];
    return 0;
}

/* One bound of a slice, from `low` to `high`; negative ones count from the end of the list. */
static int64_t clamp_part(const struct value *part, int64_t count, int64_t low, int64_t high,
                          int64_t otherwise)
{
    int64_t at;

    if (part->kind != VALUE_INT)
        return otherwise;
    at = part->i < 0 ? part->i + count : part->i;
    return at < low ? low : at > high ? high : at;
}

/* Appends the projected items of `left`, a list or map, to `made`. */
typedef int fill_fn(struct jmes_eval *eval, const struct jmes_node *node, const struct value *left,
                    struct value_list *made);

/* A projection of the left side; null when that is of another kind. */
static int make_projection(struct jmes_eval *eval, const struct jmes_node *node,
                           const struct value *current, enum value_kind kind, fill_fn *fill,
                           struct value *ret)
{
    struct value_list *made;
    struct value left;

    if (jmes_eval_node(eval, node->left, current, &left) < 0)
        return -1;
    *ret = value_null();
    if (left.kind != kind)
        return 0;
    made = value_list_new(eval->arena, 0);
    if (fill(eval, node, &left, made) < 0)
        return -1;
    *ret = value_list(made);
    return 0;
}

static int fill_slice(struct jmes_eval *eval, const struct jmes_node *node,
                      const struct value *left, struct value_list *made)
{
    const struct value *parts = node->slice.parts;
    int64_t count = (int64_t)left->list->count;
    int64_t step = parts[2].kind == VALUE_INT ? parts[2].i : 1;
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? count - 1 : count;
    int64_t at = clamp_part(&parts[0], count, low, high, step < 0 ? high : low);
    int64_t stop = clamp_part(&parts[1], count, low, high, step < 0 ? low : high);

    /* longer steps than the list are shortened, so that `at` cannot overflow */
    if (step > count || step < -count)
        step = step < 0 ? -count - 1 : count + 1;
    for (; step < 0 ? at > stop : at < stop; at += step) {
        if (jmes_eval_step(eval, 1) < 0)
            return -1;
        value_list_push(eval->arena, made, left->list->items[at]);
    }
    return 0;
}

static int eval_slice(struct jmes_eval *eval, const struct jmes_node *node,
                      const struct value *current, struct value *ret)
{
    return make_projection(eval, node, current, VALUE_LIST, fill_slice, ret);
}

/* --- projections ------------------------------------------------------------------------- */

static int push_flat(struct jmes_eval *eval, const struct value *item, struct value_list *made)
{
    const struct value *items = item->kind == VALUE_LIST ? item->list->items : item;
    size_t count = item->kind == VALUE_LIST ? item->list->count : 1;

    if (jmes_eval_step(eval, count + 1) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        value_list_push(eval->arena, made, items[i]);
    return 0;
}

static int fill_flat(struct jmes_eval *eval, const struct jmes_node *node, const struct value *left,
                     struct value_list *made)
{
    (void)node;
    for (size_t i = 0; i < left->list->count; i++)
        if (push_flat(eval, &left->list->items[i], made) < 0)
            return -1;
    return 0;
}

static int eval_flatten(struct jmes_eval *eval, const struct jmes_node *node,
                        const struct value *current, struct value *ret)
{
    return make_projection(eval, node, current, VALUE_LIST, fill_flat, ret);
}

/* The value of the right side in `item`, unless that is null or the condition does not hold. */
static int push_projected(struct jmes_eval *eval, const struct jmes_node *node,
                          const struct value *item, struct value_list *made)
{
    struct value found;

    if (node->condition) {
        if (jmes_eval_node(eval, node->condition, item, &found) < 0)
            return -1;
        if (!is_true_value(&found))
            return 0;
    }
    if (jmes_eval_node(eval, node->right, item, &found) < 0)
        return -1;
    if (found.kind != VALUE_NULL)
        value_list_push(eval->arena, made, found);
    return 0;
}

static int fill_items(struct jmes_eval *eval, const struct jmes_node *node,
                      const struct value *left, struct value_list *made)
{
    for (size_t i = 0; i < left->list->count; i++)
        if (push_projected(eval, node, &left->list->items[i], made) < 0)
            return -1;
    return 0;
}

static int eval_project(struct jmes_eval *eval, const struct jmes_node *node,
                        const struct value *current, struct value *ret)
{
    return make_projection(eval, node, current, VALUE_LIST, fill_items, ret);
}

static int fill_values(struct jmes_eval *eval, const struct jmes_node *node,
                       const struct value *left, struct value_list *made)
{
    for (size_t i = 0; i < left->map->count; i++)
        if (push_projected(eval, node, &left->map->pairs[i].value, made) < 0)
            return -1;
    return 0;
}

static int eval_project_values(struct jmes_eval *eval, const struct jmes_node *node,
                               const struct value *current, struct value *ret)
{
    return make_projection(eval, node, current, VALUE_MAP, fill_values, ret);
}

/* --- multi-selects ----------------------------------------------------------------------- */

static int eval_multiselect(struct jmes_eval *eval, const struct jmes_node *node,
                            const struct value *current, struct value *ret)
{
    struct value_list *made;
    struct value item;

    *ret = value_null();
    if (current->kind == VALUE_NULL)
        return 0;
    made = value_list_new(eval->arena, node->count);
    for (size_t i = 0; i < node->count; i++) {
        if (jmes_eval_node(eval, node->parts[i].node, current, &item) < 0)
            return -1;
        value_list_push(eval->arena, made, item);
    }
    *ret = value_list(made);
    return 0;
}

static int eval_hash(struct jmes_eval *eval, const struct jmes_node *node,
                     const struct value *current, struct value *ret)
{
    struct value_map *made;
    struct value item;

    *ret = value_null();
    if (current->kind == VALUE_NULL)
        return 0;
    made = value_map_new(eval->arena, node->count);
    for (size_t i = 0; i < node->count; i++) {
        if (jmes_eval_node(eval, node->parts[i].node, current, &item) < 0)
            return -1;
        value_map_set(eval->arena, made, node->parts[i].key, item);
    }
    *ret = value_map(made);
    return 0;
}

/* --- operators --------------------------------------------------------------------------- */

static int eval_or(struct jmes_eval *eval, const struct jmes_node *node,
                   const struct value *current, struct value *ret)
{
    if (jmes_eval_node(eval, node->left, current, ret) < 0)
        return -1;
    return is_true_value(ret) ? 0 : jmes_eval_node(eval, node->right, current, ret);
}

static int eval_and(struct jmes_eval *eval, const struct jmes_node *node,
                    const struct value *current, struct value *ret)
{
    if (jmes_eval_node(eval, node->left, current, ret) < 0)
        return -1;
    return is_true_value(ret) ? jmes_eval_node(eval, node->right, current, ret) : 0;
}

static int eval_not(struct jmes_eval *eval, const struct jmes_node *node,
                    const struct value *current, struct value *ret)
{
    if (jmes_eval_node(eval, node->left, current, ret) < 0)
        return -1;
    *ret = value_bool(!is_true_value(ret));
    return 0;
}

static bool is_jmes_number(const struct value *v)
{
    return v->kind == VALUE_INT || v->kind == VALUE_DOUBLE;
}

/* The orders (-1, 0, 1) that each sign accepts, by order + 1. */
static const bool accepted[JMES_TOKEN_KINDS][3] = {
    [JMES_LT] = { true, false, false },
    [JMES_LE] = { true, true, false },
    [JMES_GT] = { false, false, true },
    [JMES_GE] = { false, true, true },
};

/* Two numbers or two texts have an order; any other pair gives null. */
static void compare_order(const struct jmes_node *node, const struct value *a,
                          const struct value *b, struct value *ret)
{
    int order;

    *ret = value_null();
    if (!(is_jmes_number(a) && is_jmes_number(b)) &&
        !(a->kind == VALUE_STR && b->kind == VALUE_STR))
        return;
    if (value_compare(a, b, &order) < 0)
        return;
    *ret = value_bool(accepted[node->sign][order + 1]);
}

static int eval_compare(struct jmes_eval *eval, const struct jmes_node *node,
                        const struct value *current, struct value *ret)
{
    struct value left, right;
    bool equal;

    if (jmes_eval_node(eval, node->left, current, &left) < 0 ||
        jmes_eval_node(eval, node->right, current, &right) < 0)
        return -1;
    if (node->sign != JMES_EQ && node->sign != JMES_NE) {
        compare_order(node, &left, &right, ret);
        return 0;
    }
    if (jmes_eval_equal(eval, &left, &right, &equal) < 0)
        return -1;
    *ret = value_bool(equal == (node->sign == JMES_EQ));
    return 0;
}

/* --- calls ------------------------------------------------------------------------------- */

static int eval_call(struct jmes_eval *eval, const struct jmes_node *node,
                     const struct value *current, struct value *ret)
{
    struct jmes_argument *args = ARENA_ARRAY(eval->arena, struct jmes_argument, node->count);

    for (size_t i = 0; i < node->count; i++) {
        const struct jmes_node *part = node->parts[i].node;

        if (part->kind == JMES_NODE_REFERENCE)
            args[i].expression = part->left;
        else if (jmes_eval_node(eval, part, current, &args[i].value) < 0)
            return -1;
    }
    return jmes_function_call(eval, node, args, ret);
}

static eval_fn *const evals[JMES_NODE_KINDS] = {
    [JMES_NODE_CURRENT] = eval_current,
    [JMES_NODE_FIELD] = eval_field,
    [JMES_NODE_VALUE] = eval_literal,
    [JMES_NODE_CHAIN] = eval_chain,
    [JMES_NODE_INDEX] = eval_index,
    [JMES_NODE_SLICE] = eval_slice,
    [JMES_NODE_FLATTEN] = eval_flatten,
    [JMES_NODE_PROJECT] = eval_project,
    [JMES_NODE_PROJECT_VALUES] = eval_project_values,
    [JMES_NODE_SELECT] = eval_project,
    [JMES_NODE_LIST] = eval_multiselect,
    [JMES_NODE_HASH] = eval_hash,
    [JMES_NODE_OR] = eval_or,
    [JMES_NODE_AND] = eval_and,
    [JMES_NODE_NOT] = eval_not,
    [JMES_NODE_COMPARE] = eval_compare,
    [JMES_NODE_CALL] = eval_call,
};

int jmes_eval_node(struct jmes_eval *eval, const struct jmes_node *node,
                   const struct value *current, struct value *ret)
{
    if (jmes_eval_step(eval, 1) < 0)
        return -1;
    if (!evals[node->kind])
        return jmes_fail(eval->err, eval->text, node->at, "a reference must be an argument");
    return evals[node->kind](eval, node, current, ret);
}

int jmespath_search(struct jmespath *search, struct str expression, const struct value *data,
                    struct value *ret, struct err *err)
{
    struct jmes_eval eval = { search->arena, expression, 0, &search->steps, err };
    const struct jmes_node *node;
    struct value found;

    if (jmes_parse(search->arena, expression, &node, err) < 0 ||
        jmes_eval_node(&eval, node, data, &found) < 0 || jmes_eval_walk(&eval, &found) < 0)
        return -1;
    *ret = found;
    return 0;
}
