/* Filters that test and compare values, with Salt's results. */
#include "language/jinja/filters/filter.h"

#include "core/base/glob.h"
#include "core/base/unicode.h"
#include "core/base/utf8.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"

/* --- how many are true -------------------------------------------------------------------- */

static int count_true(struct render *render, const struct value *v, int64_t *ret)
{
    const struct value_list *list;
    bool is;

    *ret = 0;
    if (op_list(render, v, &list) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        if (op_truth(render, &list->items[i], &is) < 0)
            return -1;
        *ret += is;
    }
    return 0;
}

static int filter_exactly_n(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    int64_t amount, count;

    if (argument_int(render, &bound->args[1], &amount) < 0 ||
        count_true(render, &bound->args[0], &count) < 0)
        return -1;
    *ret = value_bool(count == amount);
    return 0;
}

static int filter_exactly_one(struct render *render, const struct bound_args *bound,
                              struct value *ret)
{
    int64_t count;

    if (count_true(render, &bound->args[0], &count) < 0)
        return -1;
    *ret = value_bool(count == 1);
    return 0;
}

/* --- what it is --------------------------------------------------------------------------- */

static int filter_is_list(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)render;
    *ret = value_bool(bound->args[0].kind == VALUE_LIST && !(bound->args[0].flags & VALUE_TUPLE));
    return 0;
}

static int filter_is_iter(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)render;
    *ret = value_bool(op_is_iterable(&bound->args[0]) && bound->args[0].kind != VALUE_STR);
    return 0;
}

static int filter_is_sorted(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    const struct value_list *list;
    bool less = false;

    if (op_list(render, &bound->args[0], &list) < 0)
        return -1;
    for (size_t i = 1; i < list->count && !less; i++)
        if (op_compare(render, OP_LT, &list->items[i], &list->items[i - 1], &less) < 0)
            return -1;
    *ret = value_bool(!less);
    return 0;
}

static bool is_hex_digest(struct str text)
{
    text = str_trim(text);
    if (text.n > 0 && (text.p[0] == '-' || text.p[0] == '+'))
        text = str_from_offset(text, 1);
    if (text.n > 2 && text.p[0] == '0' && (text.p[1] == 'x' || text.p[1] == 'X'))
        text = str_from_offset(text, 2);
    for (size_t i = 0; i < text.n; i++)
        if (!((text.p[i] >= '0' && text.p[i] <= '9') || (text.p[i] >= 'a' && text.p[i] <= 'f') ||
              (text.p[i] >= 'A' && text.p[i] <= 'F')))
            return false;
    return text.n > 0;
}

static int filter_is_hex(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct str text;

    if (argument_text(render, &bound->args[0], &text) < 0)
        return -1;
    *ret = value_bool(is_hex_digest(text));
    return 0;
}

static int filter_whitespace(struct render *render, const struct bound_args *bound,
                             struct value *ret)
{
    struct str text;
    bool has = false;

    if (argument_text(render, &bound->args[0], &text) < 0)
        return -1;
    while (text.n > 0 && !has)
        has = unicode_is(utf8_next(&text), UNICODE_SPACE);
    *ret = value_bool(has);
    return 0;
}

/* --- among others ------------------------------------------------------------------------- */

static int filter_substring(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    const struct value_list *list;
    struct str text, item;

    *ret = value_bool(false);
    if (argument_text(render, &bound->args[0], &text) < 0 ||
        op_list(render, &bound->args[1], &list) < 0)
        return -1;
    for (size_t i = 0; i < list->count && !ret->b; i++) {
        if (argument_text(render, &list->items[i], &item) < 0)
            return -1;
        *ret = value_bool(str_find(item, text, 0) != STR_NONE);
    }
    return 0;
}

/* One pattern, or a list of them. */
static int match_any_pattern(struct render *render, struct str text, const struct value *patterns,
                             bool *ret)
{
    const struct value_list *list;
    struct str pattern;

    *ret = false;
    if (patterns->kind == VALUE_STR) {
        *ret = glob_match(patterns->s, text);
        return 0;
    }
    if (op_list(render, patterns, &list) < 0)
        return -1;
    for (size_t i = 0; i < list->count && !*ret; i++) {
        if (argument_text(render, &list->items[i], &pattern) < 0)
            return -1;
        *ret = glob_match(pattern, text);
    }
    return 0;
}

/* A value on the blacklist is out; with a whitelist only its values are in. */
static int filter_allowed(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *white = &bound->args[1], *black = &bound->args[2];
    bool listed, given;
    struct str text;

    *ret = value_bool(false);
    if (argument_text(render, &bound->args[0], &text) < 0 || op_truth(render, black, &given) < 0)
        return -1;
    if (given && match_any_pattern(render, text, black, &listed) < 0)
        return -1;
    if (given && listed)
        return 0;
    if (op_truth(render, white, &given) < 0)
        return -1;
    listed = true;
    if (given && match_any_pattern(render, text, white, &listed) < 0)
        return -1;
    *ret = value_bool(listed);
    return 0;
}

/* --- two of a kind ------------------------------------------------------------------------ */

/* The items of `list` that are not in `other`, under `key`; no key when there are none. */
static int add_missing(struct render *render, const struct value *list, const struct value *other,
                       const char *key, struct value_map *made)
{
    struct value_list *missing = container_new_list(render, 0);
    const struct value_list *items;
    bool has;

    if (op_list(render, list, &items) < 0)
        return -1;
    for (size_t i = 0; i < items->count; i++) {
        if (render_step(render, 1) < 0 ||
            op_compare(render, OP_IN, &items->items[i], other, &has) < 0)
            return -1;
        if (!has)
            value_list_push(render->arena, missing, items->items[i]);
    }
    if (missing->count > 0)
        value_map_set(render->arena, made, value_text(key), value_list(missing));
    return 0;
}

static int filter_compare_lists(struct render *render, const struct bound_args *bound,
                                struct value *ret)
{
    struct value_map *made = container_new_map(render, 2);

    if (add_missing(render, &bound->args[1], &bound->args[0], "new", made) < 0 ||
        add_missing(render, &bound->args[0], &bound->args[1], "old", made) < 0)
        return -1;
    *ret = value_map(made);
    return 0;
}

static void add_changed_pair(struct render *render, struct value_map *made, struct value key,
                             const struct value *old, const struct value *now)
{
    struct value_map *pair = container_new_map(render, 2);

    value_map_set(render->arena, pair, value_text("old"), old ? *old : value_text(""));
    value_map_set(render->arena, pair, value_text("new"), now ? *now : value_text(""));
    value_map_set(render->arena, made, key, value_map(pair));
}

static int filter_compare_dicts(struct render *render, const struct bound_args *bound,
                                struct value *ret)
{
    struct value_map *made = container_new_map(render, 0);
    const struct value_map *old, *now;

    for (size_t i = 0; i < 2; i++)
        if (bound->args[i].kind != VALUE_MAP)
            return render_fail(render, RENDER_TYPE, "compare_dicts expects two maps, got '%s'",
                               op_type_name(&bound->args[i]));
    old = container_map(render, &bound->args[0]);
    now = container_map(render, &bound->args[1]);
    for (size_t i = 0; i < old->count; i++) {
        const struct value *other = value_map_find(now, &old->pairs[i].key);
        bool same = false;

        if (other && op_compare(render, OP_EQ, &old->pairs[i].value, other, &same) < 0)
            return -1;
        if (!same)
            add_changed_pair(render, made, old->pairs[i].key, &old->pairs[i].value, other);
    }
    for (size_t i = 0; i < now->count; i++)
        if (!value_map_find(old, &now->pairs[i].key))
            add_changed_pair(render, made, now->pairs[i].key, NULL, &now->pairs[i].value);
    *ret = value_map(made);
    return 0;
}

/* clang-format off */
const struct function filter_compare_functions[] = {
    { "check_whitelist_blacklist", "value, whitelist=none, blacklist=none", filter_allowed, "whether the lists of globs allow it" },
    { "compare_dicts",       "value, other", filter_compare_dicts, "the keys that differ, each with 'old' and 'new'" },
    { "compare_lists",       "value, other", filter_compare_lists, "the items that are 'old' and 'new'" },
    { "contains_whitespace", "value", filter_whitespace, "whether it contains a blank" },
    { "exactly_n_true",      "value, amount=1", filter_exactly_n, "whether exactly that many items are true" },
    { "exactly_one_true",    "value", filter_exactly_one, "whether exactly one item is true" },
    { "is_hex",              "value", filter_is_hex, "whether it is a hexadecimal number" },
    { "is_iter",             "value", filter_is_iter, "whether it has items; text counts as none" },
    { "is_list",             "value", filter_is_list, "whether it is a list" },
    { "is_sorted",           "value", filter_is_sorted, "whether no item is less than the one before" },
    { "substring_in_list",   "value, items", filter_substring, "whether it is part of one of these texts" },
    { 0 },
};
/* clang-format on */
