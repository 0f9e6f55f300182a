#include "core/base/map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/arena.h"
#include "core/base/mem.h"

#define FIRST_SLOTS 16

static uint64_t seed;

/* Once, before main: later there may be threads. */
__attribute__((constructor)) static void choose_seed(void)
{
    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
        seed = (uintptr_t)&seed; /* early boot: the address of a PIE is random as well */
    seed |= 1;
}

static uint64_t mix_hash(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load_word(const unsigned char *p, size_t n)
{
    uint64_t word = 0;

    memcpy(&word, p, n);
    return word;
}

/* Folded multiplication, eight bytes a step, seeded: cheap, and not predictable from outside. */
uint32_t map_hash(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t hash = seed ^ mix_hash(n ^ 0x9e3779b97f4a7c15U, 0xd6e8feb86659fd93U);

    for (; n >= 8; n -= 8, p += 8)
        hash = mix_hash(hash ^ load_word(p, 8), 0xa0761d6478bd642fU ^ seed);
    if (n > 0)
        hash = mix_hash(hash ^ load_word(p, n), 0xe7037ed1a0b428dbU ^ seed);
    hash = mix_hash(hash, 0x8ebc6af09c88c6e3U);
    return (uint32_t)(hash ^ hash >> 32);
}

/* Its content is undefined. */
static void *allocate_table(const struct map *map, size_t size)
{
    return map->arena ? arena_alloc(map->arena, size) : mem_alloc(size);
}

static void release_table(const struct map *map, void *p)
{
    if (!map->arena)
        free(p);
}

/* The slot that holds `key`, or the free slot where it belongs. */
static uint32_t *find_map_slot(const struct map *map, struct str key, uint32_t hash)
{
    size_t mask = map->slot_cap - 1;

    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &map->slots[i];
        const struct map_entry *entry = *slot > 0 ? &map->entries[*slot - 1] : NULL;

        if (!entry)
            return slot;
        if (entry->key.p && entry->hash == hash && str_eq(entry->key, key))
            return slot;
    }
}

/* Make room for `more` entries: drop the removed ones, or double. */
static void rebuild_table(struct map *map, size_t more)
{
    size_t slot_cap = map->slot_cap ? map->slot_cap : FIRST_SLOTS;
    struct map_entry *entries;
    size_t n = 0;

    while (map->live + more > slot_cap / 2)
        slot_cap = mem_product(slot_cap, 2);
    entries = allocate_table(map, mem_product(slot_cap / 2 + 1, sizeof(*entries)));
    assert(map->entries || map->used == 0);
    for (size_t i = 0; i < map->used; i++)
        if (map->entries[i].key.p)
            entries[n++] = map->entries[i];
    release_table(map, map->entries);
    release_table(map, map->slots);
    map->entries = entries;
    map->entry_cap = slot_cap / 2 + 1;
    map->slots = allocate_table(map, mem_product(slot_cap, sizeof(*map->slots)));
    memset(map->slots, 0, slot_cap * sizeof(*map->slots));
    map->slot_cap = slot_cap;
    map->used = map->live = n;
    for (size_t i = 0; i < n; i++)
        *find_map_slot(map, entries[i].key, entries[i].hash) = (uint32_t)(i + 1);
}

static struct map_entry *find_map_entry(const struct map *map, struct str key)
{
    uint32_t slot;

    if (map->slot_cap == 0)
        return NULL;
    slot = *find_map_slot(map, key, map_hash(key.p, key.n));
    return slot > 0 ? &map->entries[slot - 1] : NULL;
}

void *map_find(const struct map *map, struct str key)
{
    const struct map_entry *entry = find_map_entry(map, key);

    return entry ? entry->value : NULL;
}

bool map_has(const struct map *map, struct str key)
{
    return find_map_entry(map, key) != NULL;
}

void map_reserve(struct map *map, size_t count)
{
    if (count > map->live && count > map->slot_cap / 2)
        rebuild_table(map, count - map->live);
}

void **map_place(struct map *map, struct str key)
{
    const uint32_t hash = map_hash(key.p, key.n);
    uint32_t *slot = map->slot_cap > 0 ? find_map_slot(map, key, hash) : NULL;

    if (slot && *slot > 0)
        return &map->entries[*slot - 1].value;
    if (map->used + 1 > map->slot_cap / 2) {
        rebuild_table(map, 1);
        slot = find_map_slot(map, key, hash);
    }
    assert(map->entries && slot);
    if (!key.p)
        key.p = ""; /* NULL marks a removed entry */
    map->entries[map->used] = (struct map_entry){ key, hash, NULL };
    *slot = (uint32_t)(map->used + 1);
    map->live++;
    return &map->entries[map->used++].value;
}

void *map_set(struct map *map, struct str key, void *value)
{
    void **place = map_place(map, key), *old = *place;

    *place = value;
    return old;
}

void *map_remove(struct map *map, struct str key)
{
    struct map_entry *entry = find_map_entry(map, key);
    void *old;

    if (!entry)
        return NULL;
    old = entry->value;
    entry->key = (struct str){ NULL, 0 };
    entry->value = NULL;
    map->live--;
    return old;
}

size_t map_count(const struct map *map)
{
    return map->live;
}

struct map_entry *map_next(const struct map *map, const struct map_entry *entry)
{
    size_t i = entry ? (size_t)(entry - map->entries) + 1 : 0;

    while (i < map->used && !map->entries[i].key.p)
        i++;
    return i < map->used ? &map->entries[i] : NULL;
}

void map_done(struct map *map)
{
    release_table(map, map->entries);
    release_table(map, map->slots);
    *map = (struct map){ .arena = map->arena };
}
