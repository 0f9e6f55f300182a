/*
 * fleet_bucket - reads the current entries of a bucket, and writes one.
 */
#ifndef CLI_FLEET_BUCKET_H
#define CLI_FLEET_BUCKET_H

#include "bus/store.h"
#include "cli/fleet/link.h"
#include "nats/kv.h"

#define FLEET_BUCKET_NS (INT64_C(10) * 1000000000)

typedef void fleet_bucket_fn(void *self, const struct nats_kv_entry *entry);

/* `fn` for each entry that is not deleted; a pattern of NULL is all keys. Fails with ERR_TIMEOUT
 * after FLEET_BUCKET_NS. */
int fleet_bucket_each(struct fleet *fleet, enum store_bucket bucket, const char *pattern,
                      fleet_bucket_fn *fn, void *self, struct err *err);

/* One entry, in the arena of the fleet. Fails with ERR_NOT_FOUND. */
int fleet_bucket_get(struct fleet *fleet, enum store_bucket bucket, const char *key,
                     struct str *ret_value, struct err *err);

/* Whatever is there. Returns when it is stored; fails with ERR_TIMEOUT after `timeout`. */
int fleet_bucket_put(struct fleet *fleet, enum store_bucket bucket, const char *key,
                     struct str value, int64_t timeout, struct err *err);

#endif
