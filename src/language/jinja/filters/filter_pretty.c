/* pprint: data on several lines when it is wide, as Python's pprint lays it out. */
#include "language/jinja/filters/filter.h"

#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/utf8.h"
#include "language/jinja/function.h"
#include "language/jinja/ops.h"
#include "language/jinja/filters/plain.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

#define PAGE_WIDTH 80

struct printer {
    struct render *render;
    struct buf *out;
};

static int compare_pretty_keys(const void *a, const void *b)
{
    const struct value_pair *left = a, *right = b;
    int order = 0;

    if (value_compare(&left->key, &right->key, &order) < 0)
        order = left->key.kind < right->key.kind ? -1 : left->key.kind > right->key.kind;
    return order;
}

/* Keys in order at every level, as pprint shows them. */
static void sort_maps(const struct value *v)
{
    if (v->kind == VALUE_LIST)
        for (size_t i = 0; i < v->list->count; i++)
            sort_maps(&v->list->items[i]);
    if (v->kind != VALUE_MAP)
        return;
    if (v->map->count > 1) {
        qsort(v->map->pairs, v->map->count, sizeof(*v->map->pairs), compare_pretty_keys);
        v->map->slots = NULL; /* the index has the old order, but no lookup follows */
    }
    for (size_t i = 0; i < v->map->count; i++)
        sort_maps(&v->map->pairs[i].value);
}

static int print_pretty(struct printer *printer, const struct value *v, size_t indent,
                        size_t behind);

/* A line break and blanks up to the column of the items. */
static void break_pretty_line(struct printer *printer, size_t indent)
{
    buf_add_text(printer->out, ",\n");
    buf_fill(printer->out, ' ', indent);
}

static int print_items(struct printer *printer, const struct value *v, size_t indent, size_t behind)
{
    bool tuple = v->flags & VALUE_TUPLE;
    size_t n = v->list->count;

    buf_add_char(printer->out, tuple ? '(' : '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            break_pretty_line(printer, indent + 1);
        if (print_pretty(printer, &v->list->items[i], indent + 1, i + 1 < n ? 1 : behind + 1) < 0)
            return -1;
    }
    buf_add_text(printer->out, tuple ? (n == 1 ? ",)" : ")") : "]");
    return 0;
}

static int print_pairs(struct printer *printer, const struct value *v, size_t indent, size_t behind)
{
    size_t n = v->map->count;

    buf_add_char(printer->out, '{');
    for (size_t i = 0; i < n; i++) {
        size_t start;

        if (i > 0)
            break_pretty_line(printer, indent + 1);
        start = printer->out->n;
        if (op_repr(printer->render, &v->map->pairs[i].key, printer->out) < 0)
            return -1;
        buf_add_text(printer->out, ": ");
        if (print_pretty(printer, &v->map->pairs[i].value,
                         indent + 1 + utf8_count(str_from_offset(buf_view(printer->out), start)),
                         i + 1 < n ? 1 : behind + 1) < 0)
            return -1;
    }
    buf_add_char(printer->out, '}');
    return 0;
}

/* On one line if it fits between `indent` and the edge with `behind` characters after it. */
static int print_pretty(struct printer *printer, const struct value *v, size_t indent,
                        size_t behind)
{
    AUTO_BUF struct buf flat = BUF_INIT(TEXT_MAX);
    bool splits = (v->kind == VALUE_LIST && v->list->count > 0) ||
                  (v->kind == VALUE_MAP && v->map->count > 0);
    int result;

    if (render_enter(printer->render) < 0 || op_repr(printer->render, v, &flat) < 0)
        return -1;
    if (!splits || indent + utf8_count(buf_view(&flat)) + behind <= PAGE_WIDTH) {
        buf_add_str(printer->out, buf_view(&flat));
        result = 0;
    } else {
        result = (v->kind == VALUE_LIST ? print_items : print_pairs)(printer, v, indent, behind);
    }
    render_leave(printer->render);
    return result;
}

static int filter_pprint(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct printer printer = { render, &out };
    struct value plain;

    if (plain_value(render, &bound->args[0], &plain) < 0)
        return -1;
    sort_maps(&plain);
    if (print_pretty(&printer, &plain, 0, 0) < 0)
        return -1;
    return text_finish(render, &out, 0, ret);
}

/* clang-format off */
const struct function filter_pretty_functions[] = {
    { "pprint", "value", filter_pprint, "data for people to read" },
    { "python", "value", filter_pprint, "the same, as Salt calls it" },
    { 0 },
};
/* clang-format on */
