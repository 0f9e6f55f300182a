#include "core/base/lru.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

void lru_init(struct lru *lru, size_t max, size_t item_size)
{
    *lru = (struct lru){ .max = max, .item_size = item_size };
}

static void unlink_lru_item(struct lru *lru, struct lru_item *item)
{
    *(item->older ? &item->older->newer : &lru->oldest) = item->newer;
    *(item->newer ? &item->newer->older : &lru->newest) = item->older;
}

static void link_newest(struct lru *lru, struct lru_item *item)
{
    item->older = lru->newest;
    item->newer = NULL;
    *(lru->newest ? &lru->newest->newer : &lru->oldest) = item;
    lru->newest = item;
}

void lru_remove(struct lru *lru, void *item)
{
    struct lru_item *gone = item;

    unlink_lru_item(lru, gone);
    (void)map_remove(&lru->items, gone->key);
    free(gone);
}

void lru_done(struct lru *lru)
{
    while (lru->oldest)
        lru_remove(lru, lru->oldest);
    map_done(&lru->items);
}

void *lru_find(struct lru *lru, struct str key)
{
    struct lru_item *item = map_find(&lru->items, key);

    if (item && item != lru->newest) {
        unlink_lru_item(lru, item);
        link_newest(lru, item);
    }
    return item;
}

static struct lru_item *add_lru_item(struct lru *lru, struct str key)
{
    struct lru_item *item = mem_zalloc(lru->item_size + key.n + 1);
    char *name = (char *)item + lru->item_size;

    memcpy(name, key.n > 0 ? key.p : "", key.n);
    item->key = (struct str){ name, key.n };
    (void)map_set(&lru->items, item->key, item);
    link_newest(lru, item);
    return item;
}

void *lru_get(struct lru *lru, struct str key)
{
    struct lru_item *item = lru_find(lru, key);

    if (item)
        return item;
    if (map_count(&lru->items) >= lru->max)
        lru_remove(lru, lru->oldest);
    return add_lru_item(lru, key);
}

size_t lru_count(const struct lru *lru)
{
    return map_count(&lru->items);
}
