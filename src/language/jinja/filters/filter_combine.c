/* Filters that combine the items of lists: pairs, choices, orders. Python's iterators are lists
 * here. */
#include "language/jinja/filters/filter.h"

#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

struct choice {
    struct render *render;
    const struct value_list *pool;
    size_t length;     /* length of each tuple */
    bool again, order; /* an item may come twice; other orders are other tuples */
    size_t *picked;    /* indexes into the pool, `length` of them */
    struct value_list *made;
};

static struct value make_tuple(struct value_list *list)
{
    struct value v = value_list(list);

    v.flags = VALUE_TUPLE;
    return v;
}

static int push_tuple(struct render *render, struct value_list *made, struct value_list *items)
{
    if (text_expect_items(render, items->count + 1) < 0)
        return -1;
    if (made->count >= ITEMS_MAX)
        return render_fail(render, RENDER_LIMIT, "more than %zu items", ITEMS_MAX);
    value_list_push(render->arena, made, make_tuple(items));
    return 0;
}

/* --- choices ------------------------------------------------------------------------------ */

static bool is_picked(const struct choice *choice, size_t depth, size_t item)
{
    for (size_t i = 0; i < depth; i++)
        if (choice->picked[i] == item)
            return true;
    return false;
}

static int add_tuple(struct choice *choice)
{
    struct value_list *items = container_new_list(choice->render, choice->length);

    for (size_t i = 0; i < choice->length; i++)
        value_list_push(choice->render->arena, items, choice->pool->items[choice->picked[i]]);
    return push_tuple(choice->render, choice->made, items);
}

static int choose_items(struct choice *choice, size_t depth)
{
    const size_t after = choice->order || depth == 0 ? 0
                         : choice->again             ? choice->picked[depth - 1]
                                                     : choice->picked[depth - 1] + 1;

    if (depth == choice->length)
        return add_tuple(choice);
    if (render_enter(choice->render) < 0)
        return -1;
    for (size_t i = after; i < choice->pool->count; i++) {
        if (choice->order && is_picked(choice, depth, i))
            continue;
        choice->picked[depth] = i;
        if (render_step(choice->render, 1) < 0 || choose_items(choice, depth + 1) < 0)
            return -1;
    }
    render_leave(choice->render);
    return 0;
}

static int make_choices(struct render *render, const struct bound_args *bound, bool again,
                        bool order, struct value *ret)
{
    struct choice choice = { .render = render, .again = again, .order = order };
    int64_t length;

    if (op_list(render, &bound->args[0], &choice.pool) < 0)
        return -1;
    length = (int64_t)choice.pool->count;
    if (!argument_is_none(&bound->args[1]) && argument_int(render, &bound->args[1], &length) < 0)
        return -1;
    if (length < 0)
        return render_fail(render, RENDER_TYPE, "r must be non-negative");
    choice.made = container_new_list(render, 0);
    *ret = value_list(choice.made);
    if (!again && (uint64_t)length > choice.pool->count)
        return 0;
    if (text_expect_items(render, (size_t)length) < 0)
        return -1;
    choice.length = (size_t)length;
    choice.picked = ARENA_ARRAY(render->arena, size_t, choice.length);
    return choose_items(&choice, 0);
}

static int filter_combinations(struct render *render, const struct bound_args *bound,
                               struct value *ret)
{
    return make_choices(render, bound, false, false, ret);
}

static int filter_repeated(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return make_choices(render, bound, true, false, ret);
}

static int filter_permutations(struct render *render, const struct bound_args *bound,
                               struct value *ret)
{
    return make_choices(render, bound, false, true, ret);
}

/* --- several lists ------------------------------------------------------------------------ */

struct lists {
    const struct value_list **p;
    size_t n, shortest, longest;
};

/* The value itself and what `*rest` holds. */
static int read_lists(struct render *render, const struct bound_args *bound, struct lists *ret)
{
    const struct value_list *rest = container_list(render, &bound->args[1]);

    *ret = (struct lists){ .n = rest->count + 1, .shortest = SIZE_MAX };
    ret->p = ARENA_ARRAY(render->arena, const struct value_list *, ret->n);
    for (size_t i = 0; i < ret->n; i++) {
        if (op_list(render, i == 0 ? &bound->args[0] : &rest->items[i - 1], &ret->p[i]) < 0)
            return -1;
        if (ret->p[i]->count < ret->shortest)
            ret->shortest = ret->p[i]->count;
        if (ret->p[i]->count > ret->longest)
            ret->longest = ret->p[i]->count;
    }
    return 0;
}

static int zip_lists(struct render *render, const struct lists *lists, size_t rows,
                     const struct value *fill, struct value *ret)
{
    struct value_list *made = container_new_list(render, 0);

    for (size_t row = 0; row < rows; row++) {
        struct value_list *items = container_new_list(render, lists->n);

        for (size_t i = 0; i < lists->n; i++)
            value_list_push(render->arena, items,
                            row < lists->p[i]->count ? lists->p[i]->items[row] : *fill);
        if (push_tuple(render, made, items) < 0)
            return -1;
    }
    *ret = value_list(made);
    return 0;
}

static int filter_zip(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct lists lists;

    return read_lists(render, bound, &lists) < 0
               ? -1
               : zip_lists(render, &lists, lists.shortest, NULL, ret);
}

static int filter_zip_longest(struct render *render, const struct bound_args *bound,
                              struct value *ret)
{
    const struct value key = value_text("fillvalue"), none = value_null();
    const struct value_map *named = container_map(render, &bound->args[2]);
    const struct value *fill = value_map_find(named, &key);
    struct lists lists;

    if (named->count > (fill ? 1 : 0))
        return render_fail(render, RENDER_TYPE, "zip_longest knows 'fillvalue' alone by name");
    if (read_lists(render, bound, &lists) < 0)
        return -1;
    return zip_lists(render, &lists, lists.longest, fill ? fill : &none, ret);
}

/* Every item of the first list with every item of the others, the last of which turns fastest. */
static int filter_product(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value_list *made = container_new_list(render, 0);
    struct lists lists;
    size_t *at;

    *ret = value_list(made);
    if (read_lists(render, bound, &lists) < 0)
        return -1;
    if (lists.shortest == 0)
        return 0;
    at = ARENA_ARRAY(render->arena, size_t, lists.n);
    for (size_t turn = lists.n; turn > 0;) {
        struct value_list *items = container_new_list(render, lists.n);

        for (size_t i = 0; i < lists.n; i++)
            value_list_push(render->arena, items, lists.p[i]->items[at[i]]);
        if (push_tuple(render, made, items) < 0)
            return -1;
        for (turn = lists.n; turn > 0 && ++at[turn - 1] == lists.p[turn - 1]->count; turn--)
            at[turn - 1] = 0;
    }
    return 0;
}

static int filter_compress(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value_list *made = container_new_list(render, 0);
    const struct value_list *list, *chosen;

    if (op_list(render, &bound->args[0], &list) < 0 ||
        op_list(render, &bound->args[1], &chosen) < 0 || text_expect_items(render, list->count) < 0)
        return -1;
    for (size_t i = 0; i < list->count && i < chosen->count; i++) {
        bool wanted;

        if (op_truth(render, &chosen->items[i], &wanted) < 0)
            return -1;
        if (wanted)
            value_list_push(render->arena, made, list->items[i]);
    }
    *ret = value_list(made);
    return 0;
}

/* clang-format off */
const struct function filter_combine_functions[] = {
    { "combinations",  "value, r", filter_combinations, "all combinations of r items" },
    { "combinations_with_replacement", "value, r", filter_repeated, "the same, and an item may come again" },
    { "compress",      "value, selectors", filter_compress, "the items whose selector is true" },
    { "permutations",  "value, r=none", filter_permutations, "all orders of the items, or of r of them" },
    { "product",       "value, *others", filter_product, "each item with each item of the other lists" },
    { "zip",           "value, *others", filter_zip, "the first items together, the second ones, and so on" },
    { "zip_longest",   "value, *others, **fillvalue", filter_zip_longest, "the same, to the end of the longest list" },
    { 0 },
};
/* clang-format on */
