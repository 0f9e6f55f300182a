/* Filters that treat lists as sets, and walk data by path. */
#include "language/jinja/filters/filter.h"

#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

static struct value_map *collect_set_members(struct render *render, const struct value_list *list)
{
    struct value_map *map = container_new_map(render, list->count);

    for (size_t i = 0; i < list->count; i++)
        value_map_set(render->arena, map, list->items[i], value_null());
    return map;
}

struct set_pair {
    const struct value_list *first, *second;
    struct value_map *in_first, *in_second, *seen;
    struct value_list *made;
};

static int read_set_pair(struct render *render, const struct bound_args *bound,
                         struct set_pair *pair)
{
    if (op_list(render, &bound->args[0], &pair->first) < 0 ||
        op_list(render, &bound->args[1], &pair->second) < 0 ||
        text_expect_items(render, pair->first->count + pair->second->count) < 0)
        return -1;
    pair->in_first = collect_set_members(render, pair->first);
    pair->in_second = collect_set_members(render, pair->second);
    pair->seen = container_new_map(render, 0);
    pair->made = container_new_list(render, 0);
    return 0;
}

/* The items of `list` that are, or are not, among `others`, each once and in order. */
static void add_set_members(struct render *render, struct set_pair *pair,
                            const struct value_list *list, const struct value_map *others,
                            bool wanted)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct value *item = &list->items[i];

        if (others && (value_map_find(others, item) != NULL) != wanted)
            continue;
        if (value_map_find(pair->seen, item))
            continue;
        value_map_set(render->arena, pair->seen, *item, value_null());
        value_list_push(render->arena, pair->made, *item);
    }
}

static int filter_union(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct set_pair pair;

    if (read_set_pair(render, bound, &pair) < 0)
        return -1;
    add_set_members(render, &pair, pair.first, NULL, true);
    add_set_members(render, &pair, pair.second, NULL, true);
    *ret = value_list(pair.made);
    return 0;
}

static int filter_intersect(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    struct set_pair pair;

    if (read_set_pair(render, bound, &pair) < 0)
        return -1;
    add_set_members(render, &pair, pair.first, pair.in_second, true);
    *ret = value_list(pair.made);
    return 0;
}

static int filter_difference(struct render *render, const struct bound_args *bound,
                             struct value *ret)
{
    struct set_pair pair;

    if (read_set_pair(render, bound, &pair) < 0)
        return -1;
    add_set_members(render, &pair, pair.first, pair.in_second, false);
    *ret = value_list(pair.made);
    return 0;
}

static int filter_symmetric(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    struct set_pair pair;

    if (read_set_pair(render, bound, &pair) < 0)
        return -1;
    add_set_members(render, &pair, pair.first, pair.in_second, false);
    add_set_members(render, &pair, pair.second, pair.in_first, false);
    *ret = value_list(pair.made);
    return 0;
}

/* A list stays one, anything else becomes a list of one. */
static int filter_sequence(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *v = &bound->args[0];
    struct value_list *one;

    *ret = *v;
    if (v->kind == VALUE_LIST || v->kind == VALUE_MAP)
        return 0;
    if (undefined_check(render, v) < 0)
        return -1;
    one = container_new_list(render, 1);
    value_list_push(render->arena, one, *v);
    *ret = value_list(one);
    return 0;
}

/* The current item `key` of a map or list; NULL when there is none. */
static const struct value *find_delimited_step(struct render *render, const struct value *at,
                                               struct str key, char delimiter)
{
    struct value now = *at;

    if (at->kind == VALUE_MAP)
        now.map = (struct value_map *)(uintptr_t)container_map(render, at);
    else if (at->kind == VALUE_LIST)
        now.list = (struct value_list *)(uintptr_t)container_list(render, at);
    return value_path(&now, key, delimiter);
}

/* "a:b:0" from map to map and through lists; the default when there is no such path. */
static int filter_traverse(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *at = &bound->args[0];
    struct str path;
    char delimiter;

    if (argument_text(render, &bound->args[1], &path) < 0 ||
        argument_delimiter(render, &bound->args[3], &delimiter) < 0)
        return -1;
    while (path.p) {
        at = find_delimited_step(render, at, str_cut(&path, delimiter), delimiter);
        if (!at) {
            at = &bound->args[2];
            break;
        }
    }
    *ret = *at;
    return 0;
}

/* Values that Salt leaves out. */
static bool is_nothing(const struct value *v)
{
    return v->kind == VALUE_NULL ||
           (v->kind == VALUE_STR && (str_is(v->s, "None") || str_is(v->s, "null")));
}

static int flatten_into(struct render *render, const struct value *v, int64_t levels, bool nulls,
                        struct value_list *made)
{
    const struct value_list *list;

    if (!nulls && is_nothing(v))
        return 0;
    if (v->kind != VALUE_LIST || levels < 0) {
        value_list_push(render->arena, made, *v);
        return 0;
    }
    list = container_list(render, v);
    if (render_enter(render) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++)
        if (flatten_into(render, &list->items[i], levels - 1, nulls, made) < 0)
            return -1;
    render_leave(render);
    return 0;
}

static int filter_flatten(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value_list *made = container_new_list(render, 0);
    int64_t levels = INT32_MAX;
    bool nulls;

    if ((!argument_is_none(&bound->args[1]) &&
         argument_int(render, &bound->args[1], &levels) < 0) ||
        op_truth(render, &bound->args[2], &nulls) < 0 ||
        flatten_into(render, &bound->args[0], levels, nulls, made) < 0)
        return -1;
    *ret = value_list(made);
    return 0;
}

/* clang-format off */
const struct function filter_set_functions[] = {
    { "difference",           "value, other", filter_difference, "the items that are not in the other list" },
    { "flatten",              "value, levels=none, preserve_nulls=false", filter_flatten, "lists inside lists as one list, without null" },
    { "intersect",            "value, other", filter_intersect, "the items that are in both lists" },
    { "sequence",             "value", filter_sequence, "a list, unless it already is one" },
    { "symmetric_difference", "value, other", filter_symmetric, "the items that are in one list only" },
    { "traverse",             "value, key, default=none, delimiter=':'", filter_traverse, "the value at a path such as a:b:0" },
    { "union",                "value, other", filter_union, "the items of both lists, each once" },
    { 0 },
};
/* clang-format on */
