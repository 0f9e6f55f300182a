/* Filters that store into a map by path: "a:b:c" goes through maps; missing ones are created. As in
 * Salt the map itself changes, and is the result. */
#include "language/jinja/filters/filter.h"

#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "language/jinja/text.h"

struct spot {
    struct value_map *map; /* the innermost one, which changes */
    struct value key;
    const struct value *now; /* the current value; NULL */
};

static int find_spot(struct render *render, const struct bound_args *bound, struct spot *ret)
{
    struct value at = bound->args[0];
    struct str path;
    char delimiter;

    if (argument_text(render, &bound->args[1], &path) < 0 ||
        argument_delimiter(render, &bound->args[3], &delimiter) < 0)
        return -1;
    for (;;) {
        if (at.kind != VALUE_MAP)
            return render_fail(render, RENDER_TYPE, "%s: expected a map, got '%s'", bound->name,
                               op_type_name(&at));
        ret->map = container_change_map(render, &at);
        ret->key = op_new_str(render, str_cut(&path, delimiter));
        ret->now = value_map_find(ret->map, &ret->key);
        if (!path.p)
            return 0;
        if (!ret->now) {
            value_map_set(render->arena, ret->map, ret->key,
                          value_map(container_new_map(render, 1)));
            ret->now = value_map_find(ret->map, &ret->key);
        }
        at = *ret->now;
    }
}

static int filter_set(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct spot spot;

    if (find_spot(render, bound, &spot) < 0)
        return -1;
    value_map_set(render->arena, spot.map, spot.key, bound->args[2]);
    *ret = bound->args[0];
    return 0;
}

/* The list at the path, made when there is none. */
static int find_list_at_path(struct render *render, const struct bound_args *bound,
                             struct value_list **ret)
{
    struct spot spot;

    if (find_spot(render, bound, &spot) < 0)
        return -1;
    if (spot.now && (spot.now->kind != VALUE_LIST || spot.now->flags & VALUE_TUPLE))
        return render_fail(render, RENDER_TYPE, "%s: expected a list at the path, got '%s'",
                           bound->name, op_type_name(spot.now));
    if (spot.now) {
        *ret = container_change_list(render, spot.now);
        return 0;
    }
    *ret = container_new_list(render, 1);
    value_map_set(render->arena, spot.map, spot.key, value_list(*ret));
    return 0;
}

static int filter_append(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value_list *list;

    if (find_list_at_path(render, bound, &list) < 0 || text_expect_items(render, 1) < 0)
        return -1;
    value_list_push(render->arena, list, bound->args[2]);
    *ret = bound->args[0];
    return 0;
}

static int filter_extend(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_list *more;
    struct value_list *list;

    if (op_list(render, &bound->args[2], &more) < 0 || text_expect_items(render, more->count) < 0 ||
        find_list_at_path(render, bound, &list) < 0)
        return -1;
    for (size_t i = 0, n = more->count; i < n; i++)
        value_list_push(render->arena, list, more->items[i]);
    *ret = bound->args[0];
    return 0;
}

static int filter_update(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_map *more;
    struct value_map *map;
    struct spot spot;

    if (bound->args[2].kind != VALUE_MAP)
        return render_fail(render, RENDER_TYPE, "%s: expected a map as the value, got '%s'",
                           bound->name, op_type_name(&bound->args[2]));
    if (find_spot(render, bound, &spot) < 0)
        return -1;
    if (spot.now && spot.now->kind != VALUE_MAP)
        return render_fail(render, RENDER_TYPE, "%s: expected a map at the path, got '%s'",
                           bound->name, op_type_name(spot.now));
    map = spot.now ? container_change_map(render, spot.now) : container_new_map(render, 1);
    if (!spot.now)
        value_map_set(render->arena, spot.map, spot.key, value_map(map));
    more = container_map(render, &bound->args[2]);
    for (size_t i = 0, n = more->count; i < n; i++)
        value_map_set(render->arena, map, more->pairs[i].key, more->pairs[i].value);
    *ret = bound->args[0];
    return 0;
}

/* {'a': 1} -> [{'key': 'a', 'value': 1}] */
static int filter_to_entries(struct render *render, const struct bound_args *bound,
                             struct value *ret)
{
    struct value_list *list = container_new_list(render, 0);
    const struct value_map *map;

    if (bound->args[0].kind != VALUE_MAP)
        return render_fail(render, RENDER_TYPE, "to_entries expects a map, got '%s'",
                           op_type_name(&bound->args[0]));
    map = container_map(render, &bound->args[0]);
    for (size_t i = 0; i < map->count; i++) {
        struct value_map *entry = container_new_map(render, 2);

        value_map_set(render->arena, entry, value_text("key"), map->pairs[i].key);
        value_map_set(render->arena, entry, value_text("value"), map->pairs[i].value);
        value_list_push(render->arena, list, value_map(entry));
    }
    *ret = value_list(list);
    return 0;
}

/* The reverse; 'k' and 'name' are keys, 'v' is a value, too. */
static const struct value *find_entry_part(const struct value_map *entry, const char *const *names)
{
    const struct value *found = NULL;

    for (; *names && !found; names++) {
        const struct value key = value_text(*names);

        found = value_map_find(entry, &key);
    }
    return found;
}

static int filter_from_entries(struct render *render, const struct bound_args *bound,
                               struct value *ret)
{
    static const char *const keys[] = { "key", "k", "name", "Name", "K", "Key", NULL };
    static const char *const values[] = { "value", "v", "Value", "V", NULL };
    struct value_map *map = container_new_map(render, 0);
    const struct value_list *list;

    if (op_list(render, &bound->args[0], &list) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        const struct value_map *entry =
            list->items[i].kind == VALUE_MAP ? container_map(render, &list->items[i]) : NULL;
        const struct value *key = entry ? find_entry_part(entry, keys) : NULL;
        const struct value *value = entry ? find_entry_part(entry, values) : NULL;

        if (!key)
            return render_fail(render, RENDER_TYPE, "from_entries expects maps with 'key'");
        value_map_set(render->arena, map, *key, value ? *value : value_null());
    }
    *ret = value_map(map);
    return 0;
}

/* clang-format off */
const struct function filter_key_functions[] = {
    { "append_dict_key_value", "value, keys, item, delimiter=':'", filter_append, "append to the list at a path such as a:b" },
    { "extend_dict_key_value", "value, keys, items, delimiter=':'", filter_extend, "append all items to the list at a path" },
    { "from_entries",          "value", filter_from_entries, "the map of a list of keys and values" },
    { "to_entries",            "value", filter_to_entries, "the list of the keys and values of a map" },
    { "set_dict_key_value",    "value, keys, item, delimiter=':'", filter_set, "set the value at a path such as a:b" },
    { "update_dict_key_value", "value, keys, other, delimiter=':'", filter_update, "set keys of the map at a path" },
    { 0 },
};
/* clang-format on */
