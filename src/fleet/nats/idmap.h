/*
 * idmap - a map from ascending ids to pointers.
 *
 * Made for ids that are mostly recent: subscriptions, pending requests. A table of a power of two,
 * at most half full, that shrinks when it empties. Memory: the table, never the values. Threads:
 * one.
 */
#ifndef FLEET_NATS_IDMAP_H
#define FLEET_NATS_IDMAP_H

#include <stddef.h>
#include <stdint.h>

struct idmap_entry {
    uint64_t id; /* 0: free */
    void *value;
};

/* Zero: empty. */
struct idmap {
    struct idmap_entry *entries;
    size_t cap, count;
};

/* `id` must be new and not 0. */
void idmap_add(struct idmap *map, uint64_t id, void *value);
/* NULL: not found. */
void *idmap_find(const struct idmap *map, uint64_t id);
/* Returns its value, or NULL. */
void *idmap_remove(struct idmap *map, uint64_t id);
void idmap_done(struct idmap *map);

#endif
