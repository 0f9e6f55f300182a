/* Filters that compare or read items: map, select, sort, unique, groupby, min, max. */
#include "language/jinja/filters/filter.h"

#include "core/base/map.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/sequence.h"
#include "language/jinja/sort.h"

/* Initial room of `unique`, whose size is not known yet. */
#define UNIQUE_EXPECTED_MAX 8

/* --- sorting ---------------------------------------------------------------------- */

/* One attribute of a key: folded to lower case unless case matters. */
static int make_sort_key(struct render *render, const struct value *item, const struct value *path,
                         bool case_sensitive, struct value *ret)
{
    struct value found;

    if (argument_is_none(path))
        found = *item;
    else if (argument_follow(render, item, path, NULL, &found) < 0)
        return -1;
    if (!case_sensitive)
        return argument_fold(render, &found, ret);
    *ret = found;
    return 0;
}

/* "a,b.c": a list of keys, compared one after the other; without a comma a list of one. */
static int make_sort_keys(struct render *render, const struct value *item,
                          const struct value *paths, bool case_sensitive, struct value *ret)
{
    struct value_list *keys;
    struct str rest;

    keys = container_new_list(render, 1);
    rest = paths->kind == VALUE_STR ? paths->s : STR("");
    while (rest.p) {
        struct str name = str_cut(&rest, ',');
        struct value path = paths->kind == VALUE_STR ? op_new_str(render, name) : *paths;
        struct value key;

        if (make_sort_key(render, item, &path, case_sensitive, &key) < 0)
            return -1;
        value_list_push(render->arena, keys, key);
    }
    *ret = value_list(keys);
    return 0;
}

/* Do the items compare like lists of one item? Other kinds fail, unless they are equal. */
static bool are_scalars_alike(const struct value_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const uint8_t kind = list->items[i].kind;

        if (kind != VALUE_STR && kind != VALUE_INT && kind != VALUE_BOOL && kind != VALUE_DOUBLE)
            return false;
    }
    return true;
}

typedef int key_fn(struct render *render, const struct value *item, const struct value *path,
                   bool case_sensitive, struct value *ret);

/* The items with their keys, sorted. */
static int sort_picked_items(struct render *render, const struct value_list *list, key_fn *key_of,
                             const struct value *path, bool case_sensitive, bool descending,
                             struct sort_item **ret)
{
    struct sort_item *items = ARENA_ARRAY(render->arena, struct sort_item, list->count);

    for (size_t i = 0; i < list->count; i++) {
        items[i].value = list->items[i];
        if (key_of(render, &list->items[i], path, case_sensitive, &items[i].key) < 0)
            return -1;
    }
    *ret = items;
    return sort_by_key(render, items, list->count, descending);
}

static int two_flags(struct render *render, const struct value *a, const struct value *b,
                     bool *ret_a, bool *ret_b)
{
    return op_truth(render, a, ret_a) < 0 || op_truth(render, b, ret_b) < 0 ? -1 : 0;
}

static int filter_sort(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *paths = &bound->args[3];
    const struct value_list *list;
    struct sort_item *items;
    struct value_list *made;
    bool descending, case_sensitive;
    key_fn *key_of;

    if (op_list(render, &bound->args[0], &list) < 0 ||
        two_flags(render, &bound->args[1], &bound->args[2], &descending, &case_sensitive) < 0)
        return -1;
    key_of = argument_is_none(paths) && are_scalars_alike(list) ? make_sort_key : make_sort_keys;
    if (sort_picked_items(render, list, key_of, paths, case_sensitive, descending, &items) < 0)
        return -1;
    made = container_new_list(render, list->count);
    for (size_t i = 0; i < list->count; i++)
        value_list_push(render->arena, made, items[i].value);
    *ret = value_list(made);
    return 0;
}

/* Pairs of a map, by key or by value. */
static int filter_dictsort(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *v = &bound->args[0];
    const struct value_list *pairs;
    struct value_list *made;
    struct value place, view;
    struct sort_item *items;
    bool case_sensitive, descending;
    struct str by;

    if (two_flags(render, &bound->args[1], &bound->args[3], &case_sensitive, &descending) < 0 ||
        argument_text(render, &bound->args[2], &by) < 0)
        return -1;
    if (!str_is(by, "key") && !str_is(by, "value"))
        return render_fail(render, RENDER_TYPE, "you can only sort by either 'key' or 'value'");
    place = value_int(str_is(by, "value"));
    if (argument_method(render, v, "items", NULL, 0, &view) < 0 ||
        op_list(render, &view, &pairs) < 0 ||
        sort_picked_items(render, pairs, make_sort_key, &place, case_sensitive, descending,
                          &items) < 0)
        return -1;
    made = container_new_list(render, pairs->count);
    for (size_t i = 0; i < pairs->count; i++)
        value_list_push(render->arena, made, items[i].value);
    *ret = value_list(made);
    return 0;
}

/* --- the least and the greatest ------------------------------------------------------ */

static int pick_extreme(struct render *render, const struct bound_args *bound,
                        enum op_compare better, struct value *ret)
{
    const struct value_list *list;
    struct value best_key;
    bool case_sensitive;
    size_t best = 0;

    if (op_list(render, &bound->args[0], &list) < 0 ||
        op_truth(render, &bound->args[1], &case_sensitive) < 0)
        return -1;
    case_sensitive |= render->yaml == YAML_DIALECT_SALT; /* Salt has its own */
    if (list->count == 0) {
        *ret = undefined_because(render, render->options->lenient,
                                 "no aggregated item, the sequence is empty");
        return 0;
    }
    for (size_t i = 0; i < list->count; i++) {
        struct value key;
        bool wins = true;

        if (make_sort_key(render, &list->items[i], &bound->args[2], case_sensitive, &key) < 0)
            return -1;
        if (i > 0 && op_compare(render, better, &key, &best_key, &wins) < 0)
            return -1;
        if (wins) {
            best = i;
            best_key = key;
        }
    }
    *ret = list->items[best];
    return 0;
}

static int filter_min(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return pick_extreme(render, bound, OP_LT, ret);
}

static int filter_max(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return pick_extreme(render, bound, OP_GT, ret);
}

/* --- groups --------------------------------------------------------------------------- */

/* The result of groupby: pairs whose parts also have names. */
struct group {
    struct object object;
    struct value pair; /* tuple of key and list */
};

static int group_get(struct render *render, struct object *object, struct str name,
                     struct value *ret, bool *ret_found)
{
    const struct group *group = container_of(object, struct group, object);

    if (str_is(name, "grouper") || str_is(name, "list")) {
        *ret = group->pair.list->items[str_is(name, "list")];
        *ret_found = true;
        return 0;
    }
    if (op_attribute_only(render, &group->pair, name, ret) < 0)
        return -1;
    *ret_found = !value_is_undefined(ret);
    return 0;
}

static int group_item(struct render *render, struct object *object, const struct value *key,
                      struct value *ret, bool *ret_found)
{
    const struct group *group = container_of(object, struct group, object);

    if (op_item(render, &group->pair, key, ret) < 0)
        return -1;
    *ret_found = !value_is_undefined(ret);
    return 0;
}

static int group_list(struct render *render, struct object *object, struct value_list **ret)
{
    (void)render;
    *ret = container_of(object, struct group, object)->pair.list;
    return 0;
}

static int group_length(struct render *render, struct object *object, size_t *ret)
{
    (void)render;
    (void)object;
    *ret = 2;
    return 0;
}

static int group_print(struct render *render, struct object *object, struct buf *out)
{
    return op_repr(render, &container_of(object, struct group, object)->pair, out);
}

static const struct object_type group_type = {
    .name = "_GroupTuple",
    .get = group_get,
    .item = group_item,
    .list = group_list,
    .length = group_length,
    .print = group_print,
};

static struct value_list *add_key_group(struct render *render, struct value_list *groups,
                                        struct value key)
{
    struct group *group = ARENA_NEW(render->arena, struct group);
    struct value_list *pair = container_new_list(render, 2);
    struct value_list *members = container_new_list(render, 0);

    value_list_push(render->arena, pair, key);
    value_list_push(render->arena, pair, value_list(members));
    group->object.type = &group_type;
    group->pair = value_list(pair);
    group->pair.flags = VALUE_TUPLE;
    value_list_push(render->arena, groups, object_value(&group->object));
    return members;
}

/* Sorted by the folded key; neighbours with equal folded keys are one group, which is named by the
 * key of its first member as it was written. */
static int filter_groupby(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *path = &bound->args[1], *fallback = &bound->args[2];
    struct value_list *groups = container_new_list(render, 0), *members = NULL;
    const struct value_list *list;
    struct sort_item *items;
    bool case_sensitive;

    if (op_list(render, &bound->args[0], &list) < 0 ||
        op_truth(render, &bound->args[3], &case_sensitive) < 0)
        return -1;
    items = ARENA_ARRAY(render->arena, struct sort_item, list->count);
    for (size_t i = 0; i < list->count; i++) {
        struct value key;

        items[i].value = list->items[i];
        if (argument_follow(render, &list->items[i], path, fallback, &key) < 0)
            return -1;
        items[i].key = key;
        if (!case_sensitive && argument_fold(render, &key, &items[i].key) < 0)
            return -1;
    }
    if (sort_by_key(render, items, list->count, false) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        struct value key;
        bool same = false;

        if (i > 0 && op_compare(render, OP_EQ, &items[i - 1].key, &items[i].key, &same) < 0)
            return -1;
        if (!same) {
            if (argument_follow(render, &items[i].value, path, fallback, &key) < 0)
                return -1;
            members = add_key_group(render, groups, key);
        }
        value_list_push(render->arena, members, items[i].value);
    }
    *ret = value_list(groups);
    return 0;
}

/* --- one of each ------------------------------------------------------------------------ */

/* Salt has its own: it returns a list, case matters and items may be maps. */
static int unique_of_salt(struct render *render, const struct value_list *list, struct value *ret)
{
    struct value_list *made = container_new_list(render, 0);

    for (size_t i = 0; i < list->count; i++) {
        size_t k = 0;

        if (render_step(render, made->count + 1) < 0)
            return -1;
        while (k < made->count && !value_equal(&made->items[k], &list->items[i]))
            k++;
        if (k == made->count)
            value_list_push(render->arena, made, list->items[i]);
    }
    *ret = value_list(made);
    return 0;
}

/* All of them when there are few; for many a part may be enough. */
static size_t expected_unique(const struct value_list *list)
{
    return list->count < UNIQUE_EXPECTED_MAX ? list->count : UNIQUE_EXPECTED_MAX;
}

static int filter_unique(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value_map *seen;
    struct value_list *made;
    const struct value_list *list;
    bool case_sensitive;

    if (op_list(render, &bound->args[0], &list) < 0 ||
        op_truth(render, &bound->args[1], &case_sensitive) < 0)
        return -1;
    if (render->yaml == YAML_DIALECT_SALT && argument_is_none(&bound->args[2]))
        return unique_of_salt(render, list, ret);
    seen = container_new_map(render, expected_unique(list));
    made = container_new_list(render, expected_unique(list));
    for (size_t i = 0; i < list->count; i++) {
        struct value key;

        if (make_sort_key(render, &list->items[i], &bound->args[2], case_sensitive, &key) < 0 ||
            op_check_key(render, &key) < 0 || render_step(render, 1) < 0)
            return -1;
        if (value_map_find(seen, &key))
            continue;
        value_map_append(render->arena, seen, key, value_null());
        value_list_push(render->arena, made, list->items[i]);
    }
    *ret = generator_new(render, "generator", made);
    return 0;
}

/* --- map, select, reject ------------------------------------------------------------------ */

/* The call that is left after the first `used` arguments of `*args, **kwargs`. */
static struct function_call get_remaining_call(const struct bound_args *bound, size_t used)
{
    const struct value_list *args = bound->args[1].list;
    const struct value_map *named = bound->args[2].map;

    return (struct function_call){
        .args = args->items + used,
        .count = args->count - used,
        .named = named->pairs,
        .named_count = named->count,
    };
}

/* map(attribute='a.b', default=x) */
static int map_attribute(struct render *render, const struct bound_args *bound,
                         struct value_list *made, const struct value_list *list)
{
    const struct value named = bound->args[2];
    const struct value *attribute = value_get(&named, "attribute");
    const struct value *fallback = value_get(&named, "default");

    for (size_t i = 0; i < named.map->count; i++) {
        struct str key = named.map->pairs[i].key.s;

        if (!str_is(key, "attribute") && !str_is(key, "default"))
            return render_fail(render, RENDER_TYPE, "unexpected keyword argument '%.*s'",
                               STR_ARG(key));
    }
    for (size_t i = 0; i < list->count; i++) {
        struct value item;

        if (argument_follow(render, &list->items[i], attribute, fallback, &item) < 0 ||
            render_step(render, 1) < 0)
            return -1;
        value_list_push(render->arena, made, item);
    }
    return 0;
}

static int map_filter(struct render *render, const struct bound_args *bound,
                      struct value_list *made, const struct value_list *list)
{
    const struct value_list *args = bound->args[1].list;
    struct function_call rest;

    if (args->count == 0 || args->items[0].kind != VALUE_STR)
        return render_fail(render, RENDER_TYPE, "map requires a filter argument");
    rest = get_remaining_call(bound, 1);
    for (size_t i = 0; i < list->count; i++) {
        struct value item;

        if (filter_apply(render, args->items[0].s, &list->items[i], &rest, &item) < 0 ||
            render_step(render, 1) < 0)
            return -1;
        value_list_push(render->arena, made, item);
    }
    return 0;
}

static int filter_map(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value named = bound->args[2];
    bool by_attribute = bound->args[1].list->count == 0 && value_get(&named, "attribute");
    struct value_list *made = container_new_list(render, 0);
    const struct value_list *list;
    bool any;

    if (value_is_undefined(&bound->args[0]) && undefined_check(render, &bound->args[0]) < 0)
        return -1;
    if (op_truth(render, &bound->args[0], &any) < 0)
        return -1;
    if (any) {
        if (op_list(render, &bound->args[0], &list) < 0)
            return -1;
        if ((by_attribute ? map_attribute : map_filter)(render, bound, made, list) < 0)
            return -1;
    }
    *ret = generator_new(render, "generator", made);
    return 0;
}

/* Keep the items for which the test, or their truth, is `wanted`; `by_attribute` tests an attribute
 * of each, whose path is the first argument. */
static int select_items(struct render *render, const struct bound_args *bound, bool wanted,
                        bool by_attribute, struct value *ret)
{
    const struct value_list *args = bound->args[1].list;
    struct value_list *made = container_new_list(render, 0);
    const struct value_list *list;
    size_t used = by_attribute ? 1 : 0;
    bool any;

    if (args->count < used)
        return render_fail(render, RENDER_TYPE, "missing parameter for attribute name");
    if (op_truth(render, &bound->args[0], &any) < 0)
        return -1;
    if (any && op_list(render, &bound->args[0], &list) < 0)
        return -1;
    for (size_t i = 0; any && i < list->count; i++) {
        struct value subject = list->items[i];
        struct function_call rest;
        bool yes;

        if (render_step(render, 1) < 0)
            return -1;
        if (by_attribute &&
            argument_follow(render, &list->items[i], &args->items[0], NULL, &subject) < 0)
            return -1;
        if (args->count == used) {
            if (op_truth(render, &subject, &yes) < 0)
                return -1;
        } else {
            struct str name;

            rest = get_remaining_call(bound, used + 1);
            if (argument_text(render, &args->items[used], &name) < 0 ||
                test_apply(render, name, &subject, &rest, &yes) < 0)
                return -1;
        }
        if (yes == wanted)
            value_list_push(render->arena, made, list->items[i]);
    }
    *ret = generator_new(render, "generator", made);
    return 0;
}

static int filter_select(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return select_items(render, bound, true, false, ret);
}

static int filter_reject(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return select_items(render, bound, false, false, ret);
}

static int filter_selectattr(struct render *render, const struct bound_args *bound,
                             struct value *ret)
{
    return select_items(render, bound, true, true, ret);
}

static int filter_rejectattr(struct render *render, const struct bound_args *bound,
                             struct value *ret)
{
    return select_items(render, bound, false, true, ret);
}

/* clang-format off */
const struct function filter_pick_functions[] = {
    { "dictsort",   "value, case_sensitive=false, by='key', reverse=false", filter_dictsort, "the pairs of a map, sorted" },
    { "groupby",    "value, attribute, default=none, case_sensitive=false", filter_groupby, "items with the same attribute together" },
    { "map",        "value, *args, **kwargs", filter_map, "a filter, or an attribute, of each item" },
    { "max",        "value, case_sensitive=false, attribute=none", filter_max, "the greatest item" },
    { "min",        "value, case_sensitive=false, attribute=none", filter_min, "the least item" },
    { "reject",     "value, *args, **kwargs", filter_reject, "the items that fail a test" },
    { "rejectattr", "value, *args, **kwargs", filter_rejectattr, "the items whose attribute fails a test" },
    { "select",     "value, *args, **kwargs", filter_select, "the items that pass a test" },
    { "selectattr", "value, *args, **kwargs", filter_selectattr, "the items whose attribute passes a test" },
    { "sort",       "value, reverse=false, case_sensitive=false, attribute=none", filter_sort, "the items in order" },
    { "sorted_ignorecase", "value, reverse=false, case_sensitive=false, attribute=none", filter_sort, "the items in order, whatever their case" },
    { "unique",     "value, case_sensitive=false, attribute=none", filter_unique, "one of each" },
    { 0 },
};
/* clang-format on */
