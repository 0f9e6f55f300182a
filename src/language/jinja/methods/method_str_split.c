/* Texts: cutting them up and joining them. */
#include "language/jinja/method.h"

#include <string.h>

#include "core/base/utf8.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/markup.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"
#include "core/base/unicode.h"
#include "language/jinja/methods/methods.h"

/* The pieces of one text, in the order of discovery. */
struct pieces {
    struct render *render;
    const struct value *whole;
    struct value_list *list;
};

static void add_piece(struct pieces *pieces, size_t from, size_t to)
{
    value_list_push(pieces->render->arena, pieces->list,
                    text_part(pieces->render, pieces->whole, from, to - from));
}

static void reverse_parts(struct value_list *list)
{
    for (size_t i = 0; i < list->count / 2; i++) {
        struct value item = list->items[i];

        list->items[i] = list->items[list->count - 1 - i];
        list->items[list->count - 1 - i] = item;
    }
}

static bool is_space(struct str text)
{
    unsigned char c = (unsigned char)text.p[0];

    if (c < 0x80)
        return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
    return unicode_is(utf8_next(&text), UNICODE_SPACE);
}

/* The start of the character that ends before `at`. */
static size_t step_back(struct str text, size_t at)
{
    size_t from = at - 1;

    while (from > 0 && at - from < 4 && ((unsigned char)text.p[from] & 0xc0) == 0x80)
        from--;
    return from + utf8_length_at(str_slice(text, from, at - from)) == at ? from : at - 1;
}

static size_t skip_space_run(struct str text, size_t at, bool space)
{
    while (at < text.n && is_space(str_from_offset(text, at)) == space)
        at += utf8_length_at(str_from_offset(text, at));
    return at;
}

static size_t skip_back(struct str text, size_t at, bool space)
{
    while (at > 0 && is_space(str_from_offset(text, step_back(text, at))) == space)
        at = step_back(text, at);
    return at;
}

static void split_blanks(struct pieces *pieces, uint64_t cuts)
{
    struct str text = pieces->whole->s;
    size_t at = skip_space_run(text, 0, true);

    while (at < text.n) {
        size_t end = skip_space_run(text, at, false);

        if (cuts-- == 0) {
            add_piece(pieces, at, text.n); /* the rest keeps its blanks */
            return;
        }
        add_piece(pieces, at, end);
        at = skip_space_run(text, end, true);
    }
}

static void split_blanks_back(struct pieces *pieces, uint64_t cuts)
{
    struct str text = pieces->whole->s;
    size_t at = skip_back(text, text.n, true);

    while (at > 0) {
        size_t begin = skip_back(text, at, false);

        if (cuts-- == 0) {
            add_piece(pieces, 0, at);
            break;
        }
        add_piece(pieces, begin, at);
        at = skip_back(text, begin, true);
    }
    reverse_parts(pieces->list);
}

static void split_at_separator(struct pieces *pieces, struct str separator, uint64_t cuts)
{
    struct str text = pieces->whole->s;
    size_t from = 0;

    for (; cuts > 0; cuts--) {
        size_t at = str_find(text, separator, from);

        if (at == STR_NONE)
            break;
        add_piece(pieces, from, at);
        from = at + separator.n;
    }
    add_piece(pieces, from, text.n);
}

/* The last place of `part` before `end`, or STR_NONE. */
static size_t find_before(struct str text, struct str part, size_t end)
{
    for (size_t at = end < part.n ? 0 : end - part.n + 1; at-- > 0;)
        if (memcmp(text.p + at, part.p, part.n) == 0)
            return at;
    return STR_NONE;
}

static void split_at_back(struct pieces *pieces, struct str separator, uint64_t cuts)
{
    struct str text = pieces->whole->s;
    size_t to = text.n;

    for (; cuts > 0; cuts--) {
        size_t at = find_before(text, separator, to);

        if (at == STR_NONE)
            break;
        add_piece(pieces, at + separator.n, to);
        to = at;
    }
    add_piece(pieces, 0, to);
    reverse_parts(pieces->list);
}

static int split_text(struct render *render, const struct bound_args *bound, bool back,
                      struct value *ret)
{
    struct pieces pieces = { render, &bound->args[0], container_new_list(render, 0) };
    struct str separator;
    int64_t limit;

    if (argument_int(render, &bound->args[2], &limit) < 0 ||
        text_expect(render, bound->args[0].s.n) < 0)
        return -1;
    if (argument_is_none(&bound->args[1])) {
        (back ? split_blanks_back : split_blanks)(&pieces, (uint64_t)limit);
    } else {
        if (bound->args[1].kind != VALUE_STR)
            return render_fail(render, RENDER_TYPE, "must be str or None, not %s",
                               op_type_name(&bound->args[1]));
        separator = bound->args[1].s;
        if (separator.n == 0)
            return render_fail(render, RENDER_TYPE, "empty separator");
        (back ? split_at_back : split_at_separator)(&pieces, separator, (uint64_t)limit);
    }
    *ret = value_list(pieces.list);
    return text_expect_items(render, pieces.list->count);
}

static int str_split(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return split_text(render, bound, false, ret);
}

static int str_rsplit(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return split_text(render, bound, true, ret);
}

/* Bytes of the line end at the front of `text`; 0 when there is none. */
static size_t line_end(struct str text)
{
    unsigned char c = (unsigned char)text.p[0];

    if (c == '\r')
        return text.n > 1 && text.p[1] == '\n' ? 2 : 1;
    if (c < 0x80)
        return (c >= '\n' && c <= '\f') || (c >= 0x1c && c <= 0x1e);
    if (str_starts(text, STR("\xc2\x85")))
        return 2;
    return str_starts(text, STR("\xe2\x80\xa8")) || str_starts(text, STR("\xe2\x80\xa9")) ? 3 : 0;
}

static int str_splitlines(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct pieces pieces = { render, &bound->args[0], container_new_list(render, 0) };
    struct str text = bound->args[0].s;
    size_t from = 0;
    int64_t keep;

    if (argument_int(render, &bound->args[1], &keep) < 0 || text_expect(render, text.n) < 0)
        return -1;
    for (size_t at = 0; at < text.n;) {
        size_t end = line_end(str_from_offset(text, at));

        if (end == 0) {
            at++;
            continue;
        }
        add_piece(&pieces, from, keep ? at + end : at);
        at += end;
        from = at;
    }
    if (from < text.n)
        add_piece(&pieces, from, text.n);
    *ret = value_list(pieces.list);
    return text_expect_items(render, pieces.list->count);
}

static int partition_text(struct render *render, const struct bound_args *bound, bool back,
                          struct value *ret)
{
    const struct value *self = &bound->args[0];
    struct pieces pieces = { render, self, container_new_list(render, 3) };
    struct value separator = bound->args[1];
    size_t at;

    if (value_is_markup(self) ? markup_escape(render, &bound->args[1], &separator) < 0
                              : method_arg_str(render, bound, 1, "", &separator.s) < 0)
        return -1;
    if (separator.s.n == 0)
        return render_fail(render, RENDER_TYPE, "empty separator");
    at = back ? find_before(self->s, separator.s, self->s.n) : str_find(self->s, separator.s, 0);
    if (at != STR_NONE) {
        add_piece(&pieces, 0, at);
        add_piece(&pieces, at, at + separator.s.n);
        add_piece(&pieces, at + separator.s.n, self->s.n);
    } else {
        add_piece(&pieces, 0, back ? 0 : self->s.n);
        add_piece(&pieces, 0, 0);
        add_piece(&pieces, 0, back ? self->s.n : 0);
    }
    *ret = value_list(pieces.list);
    ret->flags = VALUE_TUPLE;
    return 0;
}

static int str_partition(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return partition_text(render, bound, false, ret);
}

static int str_rpartition(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return partition_text(render, bound, true, ret);
}

static int str_join(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    const struct value *self = &bound->args[0];
    const struct value_list *items;

    if (!value_is_markup(self) && !op_is_iterable(&bound->args[1]))
        return render_fail(render, RENDER_TYPE, "can only join an iterable");
    if (op_list(render, &bound->args[1], &items) < 0)
        return -1;
    for (size_t i = 0; i < items->count && !out.full; i++) {
        const struct value *item = &items->items[i];

        if (i > 0)
            buf_add_str(&out, self->s);
        if (value_is_markup(self)) {
            if (markup_print(render, item, &out) < 0)
                return -1;
            continue;
        }
        if (undefined_check(render, item) < 0)
            return -1;
        if (item->kind != VALUE_STR)
            return render_fail(render, RENDER_TYPE,
                               "sequence item %zu: expected str instance, %s found", i,
                               op_type_name(item));
        buf_add_str(&out, item->s);
    }
    return text_finish(render, &out, self->flags & VALUE_SAFE, ret);
}

/* clang-format off */
const struct function method_str_split[] = {
    { "join", "self, iterable", str_join, "texts with this one between them" },
    { "partition", "self, sep", str_partition, "before, separator and after, at the first" },
    { "rpartition", "self, sep", str_rpartition, "before, separator and after, at the last" },
    { "rsplit", "self, sep=none, maxsplit=-1", str_rsplit, "parts between separators, cut from the end" },
    { "split", "self, sep=none, maxsplit=-1", str_split, "parts between separators or blanks" },
    { "splitlines", "self, keepends=false", str_splitlines, "the lines" },
    { 0 },
};
/* clang-format on */
