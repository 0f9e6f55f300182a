/*
 * idmap - numbers that are handed out in order, and what they stand for.
 *
 * Made for ids of which most of the recent ones live: subscriptions, requests under way. A table
 * of a power of two, at most half full, that shrinks when it empties. Memory: the table, never what
 * ids stand for. Threads: one.
 */
#ifndef FLEET_NATS_IDMAP_H
#define FLEET_NATS_IDMAP_H

#include <stddef.h>
#include <stdint.h>

struct idmap_entry {
    uint64_t id; /* 0: free */
    void *value;
};

/* Zero is an empty one. */
struct idmap {
    struct idmap_entry *entries;
    size_t cap, count;
};

/* `id` must be new and not 0. */
void idmap_add(struct idmap *map, uint64_t id, void *value);
/* NULL: not there. */
void *idmap_find(const struct idmap *map, uint64_t id);
/* Returns what it stood for, or NULL. */
void *idmap_remove(struct idmap *map, uint64_t id);
void idmap_done(struct idmap *map);

#endif
