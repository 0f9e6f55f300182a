/* Texts: finding, counting and replacing parts of them. */
#include "language/jinja/method.h"

#include <string.h>

#include "core/base/utf8.h"
#include "language/jinja/argument.h"
#include "language/jinja/markup.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"
#include "language/jinja/methods/methods.h"

/* The part of a text between two character numbers, as `s[start:end]`. */
struct search_range {
    struct str text;
    int64_t first; /* number of its first character */
    bool beyond;   /* `start` is past the end: not even an empty text is there */
};

static int64_t clamp_index(int64_t i, int64_t length)
{
    if (i < 0)
        i += length;
    return i < 0 ? 0 : i;
}

static int read_search_bound(struct render *render, const struct value *v, int64_t *ret)
{
    if (argument_is_none(v))
        return 0;
    if (v->kind != VALUE_INT && v->kind != VALUE_BOOL)
        return render_fail(render, RENDER_TYPE,
                           "slice indices must be integers or None or have an __index__ method");
    *ret = v->kind == VALUE_INT ? v->i : v->b;
    return 0;
}

/* Arguments `at` and `at + 1` are start and end. */
static int window_read(struct render *render, const struct bound_args *bound, size_t at,
                       struct search_range *ret)
{
    struct str text = bound->args[0].s;
    int64_t length = (int64_t)utf8_count(text);
    int64_t start = 0, end = INT64_MAX;
    size_t from, to;

    if (read_search_bound(render, &bound->args[at], &start) < 0 ||
        read_search_bound(render, &bound->args[at + 1], &end) < 0)
        return -1;
    start = clamp_index(start, length);
    end = end > length ? length : clamp_index(end, length);
    *ret = (struct search_range){ STR(""), start, start > end };
    if (ret->beyond)
        return 0;
    from = utf8_offset(text, (size_t)start);
    to = utf8_offset(text, (size_t)end);
    ret->text = str_slice(text, from, to - from);
    return text_expect(render, text.n);
}

/* The last place of `part`, or STR_NONE. */
static size_t find_last(struct str text, struct str part)
{
    if (part.n > text.n)
        return STR_NONE;
    for (size_t at = text.n - part.n + 1; at-- > 0;)
        if (part.n == 0 || memcmp(text.p + at, part.p, part.n) == 0)
            return at;
    return STR_NONE;
}

/* The index of the character where the part begins, or -1. */
static int find_substring(struct render *render, const struct bound_args *bound, bool last,
                          int64_t *ret)
{
    struct search_range window;
    struct str part;
    size_t at;

    if (window_read(render, bound, 2, &window) < 0 ||
        method_arg_str(render, bound, 1, "", &part) < 0)
        return -1;
    *ret = -1;
    if (window.beyond)
        return 0;
    at = last ? find_last(window.text, part) : str_find(window.text, part, 0);
    if (at != STR_NONE)
        *ret = window.first + (int64_t)utf8_count(str_slice(window.text, 0, at));
    return 0;
}

static int find_or(struct render *render, const struct bound_args *bound, bool last, bool must,
                   struct value *ret)
{
    int64_t at;

    if (find_substring(render, bound, last, &at) < 0)
        return -1;
    if (at < 0 && must)
        return render_fail(render, RENDER_TYPE, "substring not found");
    *ret = value_int(at);
    return 0;
}

static int str_find_first(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return find_or(render, bound, false, false, ret);
}

static int str_rfind(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return find_or(render, bound, true, false, ret);
}

static int str_index(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return find_or(render, bound, false, true, ret);
}

static int str_rindex(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return find_or(render, bound, true, true, ret);
}

static int str_count(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct search_range window;
    struct str part;
    int64_t count = 0;

    if (window_read(render, bound, 2, &window) < 0 ||
        method_arg_str(render, bound, 1, "", &part) < 0)
        return -1;
    if (!window.beyond && part.n == 0)
        count = (int64_t)utf8_count(window.text) + 1;
    for (size_t at = 0; part.n > 0; count++, at += part.n) {
        at = str_find(window.text, part, at);
        if (at == STR_NONE)
            break;
    }
    *ret = value_int(count);
    return 0;
}

typedef bool affix_fn(struct str text, struct str part);

/* One text or a tuple of them at the beginning or the end. */
static int has_affix(struct render *render, const struct bound_args *bound, affix_fn *has,
                     struct value *ret)
{
    const struct value *wanted = &bound->args[1];
    const struct value *items = wanted;
    size_t count = 1;
    struct search_range window;
    bool found = false;

    if (undefined_check(render, wanted) < 0 || window_read(render, bound, 2, &window) < 0)
        return -1;
    if (wanted->kind == VALUE_LIST && wanted->flags & VALUE_TUPLE) {
        items = wanted->list->items;
        count = wanted->list->count;
    }
    for (size_t i = 0; i < count && !found; i++) {
        if (items[i].kind != VALUE_STR)
            return render_fail(render, RENDER_TYPE,
                               items == wanted
                                   ? "%s first arg must be str or a tuple of str, not %s"
                                   : "tuple for %s must only contain str, not %s",
                               bound->name, op_type_name(&items[i]));
        found = !window.beyond && has(window.text, items[i].s);
    }
    *ret = value_bool(found);
    return 0;
}

static int str_startswith(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return has_affix(render, bound, str_starts, ret);
}

static int str_endswith(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return has_affix(render, bound, str_ends, ret);
}

static int str_removeprefix(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    struct str text = bound->args[0].s, prefix;
    bool has;

    if (method_arg_str(render, bound, 1, "removeprefix() argument ", &prefix) < 0)
        return -1;
    has = str_starts(text, prefix);
    *ret = text_part(render, &bound->args[0], has ? prefix.n : 0, text.n);
    ret->flags = 0;
    return 0;
}

static int str_removesuffix(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    struct str text = bound->args[0].s, suffix;
    bool has;

    if (method_arg_str(render, bound, 1, "removesuffix() argument ", &suffix) < 0)
        return -1;
    has = suffix.n > 0 && str_ends(text, suffix);
    *ret = text_part(render, &bound->args[0], 0, text.n - (has ? suffix.n : 0));
    ret->flags = 0;
    return 0;
}

/* An empty `old` is found before every character and at the end. */
static void replace_between(struct str text, struct str new, uint64_t count, struct buf *out)
{
    while (count > 0) {
        size_t n = utf8_length_at(text);

        buf_add_str(out, new);
        count--;
        if (n == 0)
            return;
        buf_add(out, text.p, n);
        text = str_from_offset(text, n);
    }
    buf_add_str(out, text);
}

static void replace_substrings(struct str text, struct str old, struct str new, uint64_t count,
                               struct buf *out)
{
    size_t done = 0;

    for (; count > 0 && !out->full; count--) {
        size_t at = str_find(text, old, done);

        if (at == STR_NONE)
            break;
        buf_add(out, text.p + done, at - done);
        buf_add_str(out, new);
        done = at + old.n;
    }
    buf_add_str(out, str_from_offset(text, done));
}

static int str_replace(struct render *render, const struct bound_args *bound, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    const struct value *self = &bound->args[0];
    struct value parts[2] = { bound->args[1], bound->args[2] };
    int64_t count;

    for (size_t i = 0; i < 2; i++) {
        static const char *const who[] = { "replace() argument 1 ", "replace() argument 2 " };
        struct str text;

        if (method_arg_str(render, bound, i + 1, who[i], &text) < 0)
            return -1;
        if (value_is_markup(self) && markup_escape(render, &bound->args[i + 1], &parts[i]) < 0)
            return -1;
    }
    if (argument_int(render, &bound->args[3], &count) < 0)
        return -1;
    if (parts[0].s.n > 0)
        replace_substrings(self->s, parts[0].s, parts[1].s, (uint64_t)count, &out);
    else
        replace_between(self->s, parts[1].s, (uint64_t)count, &out);
    return text_finish(render, &out, self->flags & VALUE_SAFE, ret);
}

/* clang-format off */
const struct function method_str_search[] = {
    { "count", "self, sub, start?, end?", str_count, "how often a part is in the text" },
    { "endswith", "self, suffix, start?, end?", str_endswith, "does the text end with this" },
    { "find", "self, sub, start?, end?", str_find_first, "where a part is, or -1" },
    { "index", "self, sub, start?, end?", str_index, "where a part is; it must be there" },
    { "removeprefix", "self, prefix", str_removeprefix, "the text without its beginning" },
    { "removesuffix", "self, suffix", str_removesuffix, "the text without its end" },
    { "replace", "self, old, new, count=-1", str_replace, "other text for a part" },
    { "rfind", "self, sub, start?, end?", str_rfind, "where a part is last, or -1" },
    { "rindex", "self, sub, start?, end?", str_rindex, "where a part is last; it must be there" },
    { "startswith", "self, prefix, start?, end?", str_startswith, "does the text begin with this" },
    { 0 },
};
/* clang-format on */
