/*
 * basket cache - what peels share with each other: the bucket of baskets, read as it changes.
 *
 * The bucket keeps entries for ever. With `basket_expires` masters remove those of peels that have
 * been silent for that long; a peel that comes back writes them again. Nothing is removed before
 * this master has listened for a while: after a restart of the bus everybody is silent.
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

/* Of one peel; what is beyond that is not kept, and reported. */
#define BASKET_CACHE_KEYS_MAX  256
#define BASKET_CACHE_BYTES_MAX ((size_t)1 << 20)

struct basket_cache_options {
    /* A peel wrote that many bytes; and it wrote something that is not kept. May be NULL. */
    void (*wrote)(void *self, struct str peel, size_t bytes);
    void (*exceeded)(void *self, struct str peel);
    void *self;
};
struct basket_cache *basket_cache_new(const struct nats_js *js,
                                      const struct basket_cache_options *options, struct err *err);
/* NULL is fine. */
void basket_cache_free(struct basket_cache *cache);

/* What a peel shares under a name, as MessagePack; a NULL view: nothing. Good until the loop turns.
 */
struct str basket_cache_get(const struct basket_cache *cache, const char *peel, const char *name);

/* Remove what has expired: written longer than `expires` ago by a peel that was not heard since. To
 * be called now and then. */
void basket_cache_sweep(struct basket_cache *cache, const struct roster *roster, int64_t expires);

#endif
