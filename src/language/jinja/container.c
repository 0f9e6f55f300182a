#include "language/jinja/container.h"

#include "language/jinja/render.h"

#define FIRST_SLOTS 16

/* The changed copies, by the address of the original: open addressing, never full. */
struct overlay_slot {
    const void *original; /* NULL: free */
    void *copy;
};

struct container_overlay {
    size_t count, cap;
    struct overlay_slot *slots;
};

/* The slot of `original`, or the free one where it belongs. */
static struct overlay_slot *find_overlay_slot(const struct container_overlay *overlay,
                                              const void *original)
{
    size_t mask = overlay->cap - 1;
    uint64_t hash = (uint64_t)(uintptr_t)original * UINT64_C(0x9e3779b97f4a7c15);

    for (size_t i = (size_t)(hash >> 32) & mask;; i = (i + 1) & mask)
        if (!overlay->slots[i].original || overlay->slots[i].original == original)
            return &overlay->slots[i];
}

static void grow_overlay(struct arena *arena, struct container_overlay *overlay)
{
    struct container_overlay old = *overlay;

    overlay->cap = old.cap > 0 ? mem_product(old.cap, 2) : FIRST_SLOTS;
    overlay->slots = ARENA_ARRAY(arena, struct overlay_slot, overlay->cap);
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i].original)
            *find_overlay_slot(overlay, old.slots[i].original) = old.slots[i];
}

void *container_find_copy(const struct render *render, const void *original)
{
    return render->overlay ? find_overlay_slot(render->overlay, original)->copy : NULL;
}

static void keep_copy(struct render *render, const void *original, void *copy)
{
    if (!render->overlay)
        render->overlay = ARENA_NEW(render->arena, struct container_overlay);
    if (render->overlay->count * 2 >= render->overlay->cap)
        grow_overlay(render->arena, render->overlay);
    *find_overlay_slot(render->overlay, original) = (struct overlay_slot){ original, copy };
    render->overlay->count++;
}

struct value_list *container_change_list(struct render *render, const struct value *v)
{
    struct value_list *list;

    if (v->list->owner == render)
        return v->list;
    list = container_find_copy(render, v->list);
    if (list)
        return list;
    list = container_new_list(render, v->list->count);
    value_list_add_all(render->arena, list, v->list);
    keep_copy(render, v->list, list);
    return list;
}

struct value_map *container_change_map(struct render *render, const struct value *v)
{
    struct value_map *map;

    if (v->map->owner == render)
        return v->map;
    map = container_find_copy(render, v->map);
    if (map)
        return map;
    map = container_new_map(render, v->map->count);
    map->ordered = v->map->ordered;
    for (size_t i = 0; i < v->map->count; i++)
        value_map_set(render->arena, map, v->map->pairs[i].key, v->map->pairs[i].value);
    keep_copy(render, v->map, map);
    return map;
}

struct value_list *container_new_list(struct render *render, size_t expected)
{
    struct value_list *list = value_list_new(render->arena, expected);

    list->owner = render;
    return list;
}

struct value_map *container_new_map(struct render *render, size_t expected)
{
    struct value_map *map = value_map_new(render->arena, expected);

    map->owner = render;
    return map;
}
