/* Maps. */

#include "core/base/buf.h"
#include "language/jinja/container.h"
#include "language/jinja/object.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/sequence.h"
#include "language/jinja/text.h"
#include "language/jinja/methods/methods.h"

/* Longer keys are cut in messages. */
#define SHOWN_MAX 100

static const struct value *find_arg(struct render *render, const struct bound_args *bound)
{
    return value_map_find(container_map(render, &bound->args[0]), &bound->args[1]);
}

static int dict_clear(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value_map *map = container_change_map(render, &bound->args[0]);

    map->count = 0;
    map->slots = NULL; /* rebuilt when there are enough pairs */
    map->slot_cap = 0;
    *ret = value_null();
    return 0;
}

static int dict_copy(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_map *map = container_map(render, &bound->args[0]);
    struct value_map *copy;

    if (text_expect_items(render, map->count) < 0)
        return -1;
    copy = container_new_map(render, map->count);
    copy->ordered = map->ordered;
    for (size_t i = 0; i < map->count; i++)
        value_map_set(render->arena, copy, map->pairs[i].key, map->pairs[i].value);
    *ret = value_map(copy);
    return 0;
}

static int dict_get(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *found;

    if (op_check_key(render, &bound->args[1]) < 0)
        return -1;
    found = find_arg(render, bound);
    *ret = found ? *found : bound->args[2];
    return 0;
}

static int dict_items(struct render *render, const struct bound_args *bound, struct value *ret)
{
    *ret = view_new(render, VIEW_ITEMS, &bound->args[0]);
    return 0;
}

static int dict_keys(struct render *render, const struct bound_args *bound, struct value *ret)
{
    *ret = view_new(render, VIEW_KEYS, &bound->args[0]);
    return 0;
}

static int dict_values(struct render *render, const struct bound_args *bound, struct value *ret)
{
    *ret = view_new(render, VIEW_VALUES, &bound->args[0]);
    return 0;
}

static int fail_no_key(struct render *render, const struct value *key)
{
    AUTO_BUF struct buf text = BUF_INIT(SHOWN_MAX);

    if (op_repr(render, key, &text) < 0)
        return -1;
    return render_fail(render, RENDER_TYPE, "no key %s", buf_text(&text));
}

static int dict_pop(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *found;

    if (op_check_key(render, &bound->args[1]) < 0)
        return -1;
    found = find_arg(render, bound);
    if (!found && value_is_absent(&bound->args[2]))
        return fail_no_key(render, &bound->args[1]);
    *ret = found ? *found : bound->args[2];
    if (found)
        (void)value_map_remove(container_change_map(render, &bound->args[0]), &bound->args[1]);
    return 0;
}

static int dict_popitem(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value_map *map = container_change_map(render, &bound->args[0]);
    struct value_pair last;
    struct value_list *both;

    if (map->count == 0)
        return render_fail(render, RENDER_TYPE, "popitem(): dictionary is empty");
    last = map->pairs[map->count - 1];
    (void)value_map_remove(map, &last.key);
    both = container_new_list(render, 2);
    value_list_push(render->arena, both, last.key);
    value_list_push(render->arena, both, last.value);
    *ret = value_list(both);
    ret->flags = VALUE_TUPLE;
    return 0;
}

static int dict_setdefault(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *found;

    if (op_check_key(render, &bound->args[1]) < 0)
        return -1;
    found = find_arg(render, bound);
    *ret = found ? *found : bound->args[2];
    if (!found)
        value_map_set(render->arena, container_change_map(render, &bound->args[0]), bound->args[1],
                      bound->args[2]);
    return 0;
}

static int update_from_map(struct render *render, struct value_map *map, const struct value *more)
{
    const struct value_map *from = container_map(render, more);

    if (from == map)
        return 0;
    if (text_expect_items(render, from->count) < 0)
        return -1;
    for (size_t i = 0; i < from->count; i++)
        value_map_set(render->arena, map, from->pairs[i].key, from->pairs[i].value);
    return 0;
}

static int update_from_pairs(struct render *render, struct value_map *map, const struct value *more)
{
    const struct value_list *list, *pair;

    if (op_list(render, more, &list) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        const struct value *item = &list->items[i];

        if (item->kind != VALUE_LIST && item->kind != VALUE_STR)
            return render_fail(
                render, RENDER_TYPE,
                "cannot convert dictionary update sequence element #%zu to a sequence", i);
        if (op_list(render, item, &pair) < 0)
            return -1;
        if (pair->count != 2)
            return render_fail(
                render, RENDER_TYPE,
                "dictionary update sequence element #%zu has length %zu; 2 is required", i,
                pair->count);
        if (op_check_key(render, &pair->items[0]) < 0)
            return -1;
        value_map_set(render->arena, map, pair->items[0], pair->items[1]);
    }
    return 0;
}

static int dict_update(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value_map *map = container_change_map(render, &bound->args[0]);
    const struct value *more = &bound->args[1];
    int result = 0;

    if (!value_is_absent(more))
        result = more->kind == VALUE_MAP ? update_from_map(render, map, more)
                                         : update_from_pairs(render, map, more);
    if (result < 0 || update_from_map(render, map, &bound->args[2]) < 0)
        return -1;
    *ret = value_null();
    return 0;
}

/* clang-format off */
const struct function method_dict[] = {
    { "clear", "self", dict_clear, "remove all pairs" },
    { "copy", "self", dict_copy, "a new map with the same pairs" },
    { "get", "self, key, default=none", dict_get, "the value of a key, or another value" },
    { "items", "self", dict_items, "the pairs" },
    { "keys", "self", dict_keys, "the keys" },
    { "pop", "self, key, default?", dict_pop, "remove a key and return its value" },
    { "popitem", "self", dict_popitem, "remove the last pair and return it" },
    { "setdefault", "self, key, default=none", dict_setdefault, "the value of a key, which is set when missing" },
    { "update", "self, other?, **pairs", dict_update, "set all pairs of another" },
    { "values", "self", dict_values, "the values" },
    { 0 },
};
/* clang-format on */
