/*
 * basket cache - a live copy of the baskets bucket: the data that peels share with each other.
 *
 * The bucket keeps entries forever. With `basket_expires` masters remove entries of peels that have
 * been silent that long; a peel that returns writes them again. A master removes nothing until it
 * has listened for a while: after a bus restart all peels are silent.
 *
 * Memory: values are copied. Threads: the loop's.
 */
#ifndef FLEET_MASTER_PEELS_BASKET_CACHE_H
#define FLEET_MASTER_PEELS_BASKET_CACHE_H

#include <stdint.h>

#include "core/base/str.h"
#include "fleet/bus/store.h"

struct err;
struct basket_cache;
struct nats_js;
struct roster;

/* A larger value is ignored and reported. */
#define BASKET_CACHE_VALUE_MAX ((size_t)STORE_BASKET_VALUE_MAX)

/* Limits per peel; more is not kept, and reported. */
#define BASKET_CACHE_KEYS_MAX  256
#define BASKET_CACHE_BYTES_MAX ((size_t)1 << 20)

struct basket_cache_options {
    /* A peel wrote that many bytes; and it exceeded a limit. May be NULL. */
    void (*wrote)(void *self, struct str peel, size_t bytes);
    void (*exceeded)(void *self, struct str peel);
    void *self;
};
struct basket_cache *basket_cache_new(const struct nats_js *js,
                                      const struct basket_cache_options *options, struct err *err);
/* NULL is fine. */
void basket_cache_free(struct basket_cache *cache);

/* The value of a peel under a name, as MessagePack; a NULL view: none. Valid until the loop
 * turns. */
struct str basket_cache_get(const struct basket_cache *cache, const char *peel, const char *name);

/* Remove expired entries: written longer than `expires` ago, by a peel not heard since. Call it
 * periodically. */
void basket_cache_sweep(struct basket_cache *cache, const struct roster *roster, int64_t expires);

#endif
