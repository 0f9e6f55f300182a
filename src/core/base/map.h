/*
 * map - text to pointer, in the order of first insertion.
 *
 * A dense array of entries in order, and a table of indexes into it. Lookup,
 * insertion and removal take constant time; walking is a loop over an array.
 * The hash is keyed once a process, so that input cannot choose collisions.
 *
 *     struct map map = MAP_INIT;                 on the heap; map_done frees
 *     struct map map = MAP_INIT_IN(&arena);      in an arena; freed with it
 *     map_set(&map, STR("a"), thing);
 *     MAP_EACH (&map, entry)
 *         use(entry->key, entry->value);
 *
 * Keys are borrowed: they must live as long as the map. Threads: one at a time;
 * lookups in a map that nobody changes may run side by side.
 */
#ifndef CORE_BASE_MAP_H
#define CORE_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct arena;

struct map_entry {
    struct str key; /* key.p is NULL: removed */
    uint32_t hash;
    void *value;
};

struct map {
    struct arena *arena; /* NULL: the heap */
    struct map_entry *entries;
    uint32_t *slots;   /* entry number + 1; 0: free */
    size_t used, live; /* entries with and without the removed ones */
    size_t entry_cap, slot_cap;
};

#define MAP_INIT                                                                                   \
    {                                                                                              \
        0                                                                                          \
    }
#define MAP_INIT_IN(where)                                                                         \
    {                                                                                              \
        .arena = (where)                                                                           \
    }

/* The value, or NULL when the key is not there. */
void *map_find(const struct map *map, struct str key);
bool map_has(const struct map *map, struct str key);
/* Make room for `count` entries at once, instead of growing. */
void map_reserve(struct map *map, size_t count);
/* The place of the key's value, to read and set at once; a new key starts with NULL. Valid until
 * the next key is added. */
void **map_place(struct map *map, struct str key);
/* Returns the previous value, or NULL. A known key keeps its place in the order. */
void *map_set(struct map *map, struct str key, void *value);
/* Returns the value that was removed, or NULL. */
void *map_remove(struct map *map, struct str key);
size_t map_count(const struct map *map);
void map_done(struct map *map);

/* The next entry that is not removed, or NULL; NULL begins. */
struct map_entry *map_next(const struct map *map, const struct map_entry *entry);
#define MAP_EACH(map, entry)                                                                       \
    for (struct map_entry *entry = map_next((map), NULL); entry; entry = map_next((map), entry))

/* The keyed hash, for other tables. */
uint32_t map_hash(const void *bytes, size_t n);

#endif
