#include "fleet/nats/idmap.h"

#include <stdlib.h>

#include "core/base/mem.h"

#define FIRST_CAPACITY 8 /* shrinking by 4 keeps it half full at most */

/* Ids in a row are spread: else they would stand side by side, and each that is removed would have
 * to look at all of them. */
static size_t find_id_home(const struct idmap *map, uint64_t id)
{
    return (size_t)((id * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (map->cap - 1);
}

static struct idmap_entry *find_id_place(const struct idmap *map, uint64_t id)
{
    size_t at = find_id_home(map, id);

    while (map->entries[at].id != 0 && map->entries[at].id != id)
        at = (at + 1) & (map->cap - 1);
    return &map->entries[at];
}

static void resize_idmap(struct idmap *map, size_t cap)
{
    struct idmap old = *map;

    map->cap = cap;
    map->entries = mem_zalloc(mem_product(cap, sizeof(*map->entries)));
    for (size_t i = 0; i < old.cap; i++)
        if (old.entries[i].id != 0)
            *find_id_place(map, old.entries[i].id) = old.entries[i];
    free(old.entries);
}

void idmap_add(struct idmap *map, uint64_t id, void *value)
{
    if (2 * (map->count + 1) > map->cap)
        resize_idmap(map, map->cap ? 2 * map->cap : FIRST_CAPACITY);
    *find_id_place(map, id) = (struct idmap_entry){ id, value };
    map->count++;
}

void *idmap_find(const struct idmap *map, uint64_t id)
{
    return map->cap && id != 0 ? find_id_place(map, id)->value : NULL;
}

/* Those after a gap move up, so that every one is found from its own place on. */
static void close_gap(struct idmap *map, size_t gap)
{
    size_t mask = map->cap - 1;

    for (size_t at = (gap + 1) & mask; map->entries[at].id != 0; at = (at + 1) & mask) {
        size_t home = find_id_home(map, map->entries[at].id);

        if (((at - home) & mask) >= ((at - gap) & mask)) {
            map->entries[gap] = map->entries[at];
            gap = at;
        }
    }
    map->entries[gap] = (struct idmap_entry){ 0, NULL };
}

void *idmap_remove(struct idmap *map, uint64_t id)
{
    void *value = idmap_find(map, id);

    if (!value)
        return NULL;
    close_gap(map, (size_t)(find_id_place(map, id) - map->entries));
    map->count--;
    if (map->cap > FIRST_CAPACITY && 16 * map->count < map->cap)
        resize_idmap(map, map->cap / 4);
    return value;
}

void idmap_done(struct idmap *map)
{
    free(map->entries);
    *map = (struct idmap){ 0 };
}
