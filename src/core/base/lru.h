/*
 * lru - items by name; the least recently used one makes room for a new one.
 *
 * An item is a struct of the owner that begins with a struct lru_item:
 *
 *     struct source { struct lru_item item; int64_t full_at; };
 *     lru_init(&lru, 4096, sizeof(struct source));
 *     struct source *source = lru_get(&lru, STR("web-01"));     all zero when it is new
 *
 * Memory: the items and copies of their names, until lru_remove or lru_done; lru_get may free the
 * oldest, so pointers are good until the next lru_get. Threads: one.
 */
#ifndef CORE_BASE_LRU_H
#define CORE_BASE_LRU_H

#include "core/base/map.h"

struct lru_item {
    struct lru_item *older, *newer;
    struct str key;
};

struct lru {
    size_t max, item_size;
    struct map items;
    struct lru_item *oldest, *newest;
};

void lru_init(struct lru *lru, size_t max, size_t item_size);
void lru_done(struct lru *lru);

/* The item of that name, which becomes the newest; NULL when there is none. */
void *lru_find(struct lru *lru, struct str key);
/* The same; a missing item is created. */
void *lru_get(struct lru *lru, struct str key);
void lru_remove(struct lru *lru, void *item);
size_t lru_count(const struct lru *lru);

#endif
