/* Lists and tuples. */
#include "language/jinja/method.h"

#include <string.h>

#include "core/base/buf.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/sort.h"
#include "language/jinja/text.h"
#include "language/jinja/methods/methods.h"

/* Longer values are cut in messages. */
#define SHOWN_MAX 100

static const struct value_list *get_own_items(struct render *render, const struct bound_args *bound)
{
    return container_list(render, &bound->args[0]);
}

static int list_append(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value_list *list = container_change_list(render, &bound->args[0]);

    if (text_expect_items(render, list->count == ITEMS_MAX ? ITEMS_MAX + 1 : 0) < 0)
        return -1;
    value_list_push(render->arena, list, bound->args[1]);
    *ret = value_null();
    return 0;
}

static int list_clear(struct render *render, const struct bound_args *bound, struct value *ret)
{
    container_change_list(render, &bound->args[0])->count = 0;
    *ret = value_null();
    return 0;
}

static int list_copy(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return op_slice(render, &bound->args[0], NULL, NULL, NULL, ret);
}

static int list_count(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_list *list = get_own_items(render, bound);
    int64_t count = 0;
    bool same;

    if (text_expect_items(render, list->count) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        if (op_compare(render, OP_EQ, &list->items[i], &bound->args[1], &same) < 0)
            return -1;
        count += same;
    }
    *ret = value_int(count);
    return 0;
}

static int list_extend(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_list *more;
    struct value_list *list;
    size_t count;

    if (op_list(render, &bound->args[1], &more) < 0)
        return -1;
    count = more->count; /* `l.extend(l)` ends */
    list = container_change_list(render, &bound->args[0]);
    more = bound->args[1].kind == VALUE_LIST ? container_list(render, &bound->args[1]) : more;
    if (text_expect_items(render, list->count + count) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        value_list_push(render->arena, list, more->items[i]);
    *ret = value_null();
    return 0;
}

/* The place of an item between `from` and `to`, or STR_NONE. */
static int find_equal_item(struct render *render, const struct value_list *list,
                           const struct value *item, size_t from, size_t to, size_t *ret)
{
    bool same;

    if (text_expect_items(render, list->count) < 0)
        return -1;
    *ret = STR_NONE;
    for (size_t i = from; i < to && i < list->count; i++) {
        if (op_compare(render, OP_EQ, &list->items[i], item, &same) < 0)
            return -1;
        if (same) {
            *ret = i;
            return 0;
        }
    }
    return 0;
}

static size_t clamp_list_index(int64_t i, size_t count)
{
    if (i < 0)
        i += (int64_t)count;
    if (i < 0)
        return 0;
    return (uint64_t)i < count ? (size_t)i : count;
}

static int fail_not_in(struct render *render, const struct bound_args *bound)
{
    AUTO_BUF struct buf text = BUF_INIT(SHOWN_MAX);

    if (bound->args[0].flags & VALUE_TUPLE)
        return render_fail(render, RENDER_TYPE, "tuple.index(x): x not in tuple");
    if (op_repr(render, &bound->args[1], &text) < 0)
        return -1;
    return render_fail(render, RENDER_TYPE, "%s is not in list", buf_text(&text));
}

static int list_index(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_list *list = get_own_items(render, bound);
    int64_t start = 0, stop = INT64_MAX;
    size_t at;

    if (method_arg_optional_int(render, bound, 2, &start) < 0 ||
        method_arg_optional_int(render, bound, 3, &stop) < 0 ||
        find_equal_item(render, list, &bound->args[1], clamp_list_index(start, list->count),
                        clamp_list_index(stop, list->count), &at) < 0)
        return -1;
    if (at == STR_NONE)
        return fail_not_in(render, bound);
    *ret = value_int((int64_t)at);
    return 0;
}

static int list_insert(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value_list *list = container_change_list(render, &bound->args[0]);
    int64_t index;
    size_t at;

    if (argument_int(render, &bound->args[1], &index) < 0 ||
        text_expect_items(render, list->count + 1) < 0)
        return -1;
    at = clamp_list_index(index, list->count);
    value_list_push(render->arena, list, bound->args[2]);
    memmove(&list->items[at + 1], &list->items[at], (list->count - 1 - at) * sizeof(*list->items));
    list->items[at] = bound->args[2];
    *ret = value_null();
    return 0;
}

static void remove_list_item(struct value_list *list, size_t at)
{
    memmove(&list->items[at], &list->items[at + 1], (list->count - at - 1) * sizeof(*list->items));
    list->count--;
}

static int list_pop(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value_list *list = container_change_list(render, &bound->args[0]);
    int64_t index;

    if (argument_int(render, &bound->args[1], &index) < 0)
        return -1;
    if (list->count == 0)
        return render_fail(render, RENDER_TYPE, "pop from empty list");
    if (index < 0)
        index += (int64_t)list->count;
    if (index < 0 || (uint64_t)index >= list->count)
        return render_fail(render, RENDER_TYPE, "pop index out of range");
    *ret = list->items[index];
    remove_list_item(list, (size_t)index);
    return 0;
}

static int list_remove(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value_list *list = container_change_list(render, &bound->args[0]);
    size_t at;

    if (find_equal_item(render, list, &bound->args[1], 0, list->count, &at) < 0)
        return -1;
    if (at == STR_NONE)
        return render_fail(render, RENDER_TYPE, "list.remove(x): x not in list");
    remove_list_item(list, at);
    *ret = value_null();
    return 0;
}

static int list_reverse(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value_list *list = container_change_list(render, &bound->args[0]);

    for (size_t i = 0; i < list->count / 2; i++) {
        struct value item = list->items[i];

        list->items[i] = list->items[list->count - 1 - i];
        list->items[list->count - 1 - i] = item;
    }
    *ret = value_null();
    return 0;
}

/* --- sort ------------------------------------------------------------------------- */

static int sort_key(struct render *render, const struct value *function, const struct value *item,
                    struct value *ret)
{
    const struct function_call call = { .args = item, .count = 1 };

    if (function->kind != VALUE_NULL)
        return op_call(render, function, &call, ret);
    *ret = *item;
    return 0;
}

static int list_sort(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value_list *list = container_change_list(render, &bound->args[0]);
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct sort_item *items = ARENA_ARRAY(&scratch, struct sort_item, list->count);
    size_t count = list->count;
    bool reverse;

    if (op_truth(render, &bound->args[2], &reverse) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        items[i].value = list->items[i];
        if (sort_key(render, &bound->args[1], &items[i].value, &items[i].key) < 0)
            return -1;
    }
    if (list->count != count)
        return render_fail(render, RENDER_TYPE, "list modified during sort");
    if (sort_by_key(render, items, count, reverse) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        list->items[i] = items[i].value;
    *ret = value_null();
    return 0;
}

/* clang-format off */
const struct function method_list[] = {
    { "append", "self, object", list_append, "add an item at the end" },
    { "clear", "self", list_clear, "remove all items" },
    { "copy", "self", list_copy, "a new list with the same items" },
    { "count", "self, value", list_count, "how often an item occurs" },
    { "extend", "self, iterable", list_extend, "add all items of another" },
    { "index", "self, value, start?, stop?", list_index, "the index of an item, which must exist" },
    { "insert", "self, index, object", list_insert, "put an item before another" },
    { "pop", "self, index=-1", list_pop, "remove an item and give it" },
    { "remove", "self, value", list_remove, "remove the first item that is equal" },
    { "reverse", "self", list_reverse, "reverse the order" },
    { "sort", "self, key=none, reverse=false", list_sort, "put the items in order" },
    { 0 },
};

const struct function method_tuple[] = {
    { "count", "self, value", list_count, "how often an item occurs" },
    { "index", "self, value, start?, stop?", list_index, "the index of an item, which must exist" },
    { 0 },
};
/* clang-format on */
