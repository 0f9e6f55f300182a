/* Filters on sequences that neither compare nor read items. */
#include "language/jinja/filters/filter.h"

#include "core/base/buf.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/sequence.h"
#include "language/jinja/text.h"

static int filter_first(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_list *list;

    if (op_list(render, &bound->args[0], &list) < 0)
        return -1;
    *ret = list->count > 0 ? list->items[0]
                           : undefined_because(render, render->options->lenient,
                                               "no first item, the sequence is empty");
    return 0;
}

static int filter_last(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_list *list;

    if (op_list(render, &bound->args[0], &list) < 0)
        return -1;
    *ret = list->count > 0 ? list->items[list->count - 1]
                           : undefined_because(render, render->options->lenient,
                                               "no last item, the sequence is empty");
    return 0;
}

static int filter_random(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_list *list;

    if (op_list(render, &bound->args[0], &list) < 0)
        return -1;
    if (!render->options->random)
        return render_fail(render, RENDER_TYPE, "'random' is not available here");
    if (list->count == 0)
        *ret = undefined_because(render, render->options->lenient,
                                 "no random item, the sequence is empty");
    else
        *ret = list->items[render->options->random(render->options->user) % list->count];
    return 0;
}

static int filter_length(struct render *render, const struct bound_args *bound, struct value *ret)
{
    size_t n;

    if (op_length(render, &bound->args[0], &n) < 0)
        return -1;
    *ret = value_int((int64_t)n);
    return 0;
}

static struct value_list *copy_items(struct render *render, const struct value_list *list)
{
    struct value_list *copy = container_new_list(render, list->count);

    value_list_add_all(render->arena, copy, list);
    return copy;
}

static int filter_list(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_list *list;

    if (op_list(render, &bound->args[0], &list) < 0 || text_expect_items(render, list->count) < 0)
        return -1;
    *ret = value_list(copy_items(render, list));
    return 0;
}

static int reverse_filtered_text(struct render *render, const struct value *v, struct value *ret)
{
    const struct value minus = value_int(-1);

    return op_slice(render, v, NULL, NULL, &minus, ret);
}

static int filter_reverse(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_list *list;
    struct value_list *made;

    if (bound->args[0].kind == VALUE_STR)
        return reverse_filtered_text(render, &bound->args[0], ret);
    if (op_list(render, &bound->args[0], &list) < 0 || text_expect_items(render, list->count) < 0)
        return -1;
    made = container_new_list(render, list->count);
    for (size_t i = list->count; i-- > 0;)
        value_list_push(render->arena, made, list->items[i]);
    *ret = generator_new(render, "generator", made);
    return 0;
}

/* With autoescape on, one safe part makes the whole safe, and the others are escaped. */
static int join_safely(struct render *render, const struct value_list *items,
                       const struct value *glue, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    bool safe = glue->kind == VALUE_STR && (glue->flags & VALUE_SAFE);

    for (size_t i = 0; i < items->count && !safe; i++)
        safe = items->items[i].kind == VALUE_STR && (items->items[i].flags & VALUE_SAFE);
    for (size_t i = 0; i < items->count; i++) {
        const struct value *part[2] = { glue, &items->items[i] };

        for (size_t p = i == 0 ? 1 : 0; p < 2; p++)
            if ((safe ? op_output : op_print)(render, part[p], &out) < 0)
                return -1;
        if (render_step(render, 1) < 0)
            return -1;
    }
    return text_finish(render, &out, safe ? VALUE_SAFE : 0, ret);
}

static int join_plainly(struct render *render, const struct value_list *items,
                        const struct value *glue, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct str between;

    if (argument_text(render, glue, &between) < 0)
        return -1;
    for (size_t i = 0; i < items->count; i++) {
        if (i > 0)
            buf_add_str(&out, between);
        if (op_print(render, &items->items[i], &out) < 0 || render_step(render, 1) < 0)
            return -1;
    }
    return text_finish(render, &out, glue->kind == VALUE_STR ? glue->flags & VALUE_SAFE : 0, ret);
}

static int filter_join(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *glue = &bound->args[1], *attribute = &bound->args[2];
    const struct value_list *items;
    struct value_list *picked;

    if (op_list(render, &bound->args[0], &items) < 0)
        return -1;
    if (!argument_is_none(attribute)) {
        picked = container_new_list(render, items->count);
        for (size_t i = 0; i < items->count; i++) {
            struct value item;

            if (argument_follow(render, &items->items[i], attribute, NULL, &item) < 0)
                return -1;
            value_list_push(render->arena, picked, item);
        }
        items = picked;
    }
    return (render->autoescape ? join_safely : join_plainly)(render, items, glue, ret);
}

/* Rows of `n`; the last one is filled up when a fill value is given. */
static int filter_batch(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *fill = &bound->args[2];
    struct value_list *rows, *row = NULL;
    const struct value_list *list;
    int64_t n;

    if (op_list(render, &bound->args[0], &list) < 0 ||
        argument_int(render, &bound->args[1], &n) < 0)
        return -1;
    rows = container_new_list(render, 0);
    for (size_t i = 0; i < list->count; i++) {
        if (!row || (int64_t)row->count == n) {
            row = container_new_list(render, 0);
            value_list_push(render->arena, rows, value_list(row));
        }
        value_list_push(render->arena, row, list->items[i]);
    }
    if (row && !argument_is_none(fill)) {
        if (n > 0 && text_expect_items(render, (size_t)n) < 0)
            return -1;
        while ((int64_t)row->count < n)
            value_list_push(render->arena, row, *fill);
    }
    *ret = generator_new(render, "generator", rows);
    return 0;
}

/* `n` columns of nearly equal length, the longer ones first. */
static int filter_slice(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *fill = &bound->args[2];
    const struct value_list *list;
    struct value_list *columns;
    size_t at = 0, each, longer;
    int64_t n;

    if (op_list(render, &bound->args[0], &list) < 0 ||
        argument_int(render, &bound->args[1], &n) < 0)
        return -1;
    if (n == 0)
        return render_fail(render, RENDER_TYPE, "integer division or modulo by zero");
    columns = container_new_list(render, 0);
    if (n > 0 && text_expect_items(render, (size_t)n) < 0)
        return -1;
    each = n > 0 ? list->count / (size_t)n : 0;
    longer = n > 0 ? list->count % (size_t)n : 0;
    for (int64_t i = 0; i < n; i++) {
        size_t size = each + ((size_t)i < longer);
        struct value_list *column = container_new_list(render, size);

        for (; size > 0; size--)
            value_list_push(render->arena, column, list->items[at++]);
        if (!argument_is_none(fill) && (size_t)i >= longer)
            value_list_push(render->arena, column, *fill);
        value_list_push(render->arena, columns, value_list(column));
    }
    *ret = generator_new(render, "generator", columns);
    return 0;
}

static int filter_sum(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_list *list;
    struct value sum = bound->args[2];

    if (op_list(render, &bound->args[0], &list) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        struct value item, next;

        if (argument_follow(render, &list->items[i], &bound->args[1], NULL, &item) < 0 ||
            op_binary(render, OP_ADD, &sum, &item, &next) < 0)
            return -1;
        sum = next;
    }
    *ret = sum;
    return 0;
}

static int filter_items(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *v = &bound->args[0];

    if (value_is_undefined(v)) {
        *ret = generator_new(render, "generator", container_new_list(render, 0));
        return 0;
    }
    if (v->kind != VALUE_MAP)
        return render_fail(render, RENDER_TYPE, "can only get item pairs from a mapping");
    return argument_method(render, v, "items", NULL, 0, ret);
}

static int filter_default(struct render *render, const struct bound_args *bound, struct value *ret)
{
    bool missing, loose, truth = true;

    if (undefined_test(render, &bound->args[0], &missing) < 0 ||
        op_truth(render, &bound->args[2], &loose) < 0)
        return -1;
    if (!missing && loose && op_truth(render, &bound->args[0], &truth) < 0)
        return -1;
    *ret = missing || !truth ? bound->args[1] : bound->args[0];
    return 0;
}

static int filter_attr(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct str name;

    if (argument_text(render, &bound->args[1], &name) < 0)
        return -1;
    return op_attribute_only(render, &bound->args[0], name, ret);
}

static int filter_method(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_list *args = container_list(render, &bound->args[2]);
    const struct value_map *named = container_map(render, &bound->args[3]);
    const struct function_call call = { args->items, args->count, named->pairs, named->count };
    struct value method;
    struct str name;

    if (argument_text(render, &bound->args[1], &name) < 0 ||
        op_attribute_only(render, &bound->args[0], name, &method) < 0)
        return -1;
    return op_call(render, &method, &call, ret);
}

/* clang-format off */
const struct function filter_list_functions[] = {
    { "attr",    "obj, name", filter_attr, "an attribute of a value, never an item" },
    { "batch",   "value, linecount, fill_with=none", filter_batch, "rows of that many items" },
    { "count",   "obj", filter_length, "the number of items" },
    { "d",       "value, default_value='', boolean=false", filter_default, "another value when it is undefined" },
    { "default", "value, default_value='', boolean=false", filter_default, "another value when it is undefined" },
    { "first",   "seq", filter_first, "the first item" },
    { "items",   "value", filter_items, "the pairs of a map; none when it is undefined" },
    { "join",    "value, d='', attribute=none", filter_join, "all items as one text" },
    { "last",    "seq", filter_last, "the last item" },
    { "length",  "obj", filter_length, "the number of items" },
    { "list",    "value", filter_list, "the items as a list; of a text its characters" },
    { "method_call", "obj, name, *args, **kwargs", filter_method, "the result of a method of the value" },
    { "random",  "seq", filter_random, "a random item" },
    { "reverse", "value", filter_reverse, "in reverse order" },
    { "slice",   "value, slices, fill_with=none", filter_slice, "that many columns" },
    { "sum",     "iterable, attribute=none, start=0", filter_sum, "the sum of numbers" },
    { 0 },
};
/* clang-format on */
