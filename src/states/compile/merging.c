#include "states/compile/merging.h"

#include "core/data/value.h"
#include "language/jinja/container.h"
#include "language/jinja/render.h"

static int check_merge_depth(struct render *render, unsigned depth)
{
    if (depth <= MERGING_DEPTH_MAX)
        return 0;
    return render_fail(render, RENDER_LIMIT, "values to merge exceed the limit of %d levels",
                       MERGING_DEPTH_MAX);
}

static int copy_merged_value(struct render *render, const struct value *v, unsigned depth,
                             struct value *ret)
{
    struct value made = *v, item;

    if (check_merge_depth(render, depth) < 0)
        return -1;
    if (v->kind == VALUE_LIST) {
        const struct value_list *list = container_list(render, v);

        made.list = container_new_list(render, list->count);
        for (size_t i = 0; i < list->count; i++) {
            if (copy_merged_value(render, &list->items[i], depth + 1, &item) < 0)
                return -1;
            value_list_push(render->arena, made.list, item);
        }
    } else if (v->kind == VALUE_MAP) {
        const struct value_map *map = container_map(render, v);

        made.map = container_new_map(render, map->count);
        made.map->ordered = map->ordered;
        for (size_t i = 0; i < map->count; i++) {
            if (copy_merged_value(render, &map->pairs[i].value, depth + 1, &item) < 0)
                return -1;
            value_map_set(render->arena, made.map, map->pairs[i].key, item);
        }
    }
    *ret = made;
    return 0;
}

static bool list_has(const struct value_list *list, const struct value *item)
{
    for (size_t i = 0; i < list->count; i++)
        if (value_equal(&list->items[i], item))
            return true;
    return false;
}

static int join_merged_lists(struct render *render, const struct value *base,
                             const struct value *over, unsigned depth)
{
    const struct value_list *more = container_list(render, over);
    struct value_list *list = container_change_list(render, base);
    struct value item;

    for (size_t i = 0; i < more->count; i++) {
        if (copy_merged_value(render, &more->items[i], depth + 1, &item) < 0)
            return -1;
        if (!list_has(list, &item))
            value_list_push(render->arena, list, item);
    }
    return 0;
}

static int update_map(struct render *render, const struct value *base, const struct value *over,
                      enum merging_lists lists, unsigned depth)
{
    const struct value_map *more = container_map(render, over);
    struct value_map *map = container_change_map(render, base);
    int result = check_merge_depth(render, depth);

    for (size_t i = 0; i < more->count && result == 0; i++) {
        const struct value_pair *pair = &more->pairs[i];
        const struct value *below = value_map_find(map, &pair->key);
        const uint8_t both = below && below->kind == pair->value.kind ? below->kind : VALUE_NULL;
        struct value item;

        if (both == VALUE_MAP) {
            result = update_map(render, below, &pair->value, lists, depth + 1);
        } else if (both == VALUE_LIST && lists == MERGING_JOIN) {
            result = join_merged_lists(render, below, &pair->value, depth);
        } else {
            result = copy_merged_value(render, &pair->value, depth + 1, &item);
            if (result == 0)
                value_map_set(render->arena, map, pair->key, item);
        }
    }
    return result;
}

int merging_update(struct render *render, const struct value *base, const struct value *over,
                   enum merging_lists lists)
{
    return update_map(render, base, over, lists, 0);
}

int merging_make(struct render *render, const struct value *base, const struct value *over,
                 enum merging_lists lists, struct value *ret)
{
    const bool is_map = base->kind == VALUE_MAP && over->kind == VALUE_MAP;
    const bool is_list = base->kind == VALUE_LIST && over->kind == VALUE_LIST;
    struct value made;

    if (copy_merged_value(render, is_map || (is_list && lists == MERGING_JOIN) ? base : over, 0,
                          &made) < 0)
        return -1;
    if (is_map && update_map(render, &made, over, lists, 0) < 0)
        return -1;
    if (is_list && lists == MERGING_JOIN && join_merged_lists(render, &made, over, 0) < 0)
        return -1;
    *ret = made;
    return 0;
}
