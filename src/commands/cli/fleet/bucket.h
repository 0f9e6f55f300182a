/*
 * fleet_bucket - reads the current entries of a bucket, and writes one.
 */
#ifndef COMMANDS_CLI_FLEET_BUCKET_H
#define COMMANDS_CLI_FLEET_BUCKET_H

#include "fleet/bus/store.h"
#include "commands/cli/fleet/link.h"
#include "fleet/nats/kv.h"

#define FLEET_BUCKET_NS (INT64_C(10) * 1000000000)

typedef void fleet_bucket_fn(void *self, const struct nats_kv_entry *entry);

/* `fn` for each entry that is not deleted; a pattern of NULL is all keys. Fails with ERR_TIMEOUT
 * after FLEET_BUCKET_NS. */
int fleet_bucket_each(struct fleet *fleet, enum store_bucket bucket, const char *pattern,
                      fleet_bucket_fn *fn, void *self, struct err *err);

/* One entry, in the arena of the fleet. Fails with ERR_NOT_FOUND. */
int fleet_bucket_get(struct fleet *fleet, enum store_bucket bucket, const char *key,
                     struct str *ret_value, struct err *err);
/* The same with its revision, for a change that must not undo another. */
int fleet_bucket_find(struct fleet *fleet, enum store_bucket bucket, const char *key,
                      struct str *ret_value, uint64_t *ret_revision, struct err *err);

/* Set the bus time (fleet/bus/bus_time.h) from the last heartbeat of a master, within seconds; for
 * comparing with times that masters wrote. Without one, the clock of this machine is used. */
void fleet_learn_time(struct fleet *fleet);

/* Write it, whatever is there. Returns when it is stored; fails with ERR_TIMEOUT after `timeout`.
 */
int fleet_bucket_put(struct fleet *fleet, enum store_bucket bucket, const char *key,
                     struct str value, int64_t timeout, struct err *err);
/* Replace this revision; 0: only create. Fails with ERR_BUSY if the key was changed meanwhile. */
int fleet_bucket_replace(struct fleet *fleet, enum store_bucket bucket, const char *key,
                         struct str value, uint64_t revision, struct err *err);
/* Delete the entry and its history. */
int fleet_bucket_purge(struct fleet *fleet, enum store_bucket bucket, const char *key,
                       struct err *err);

#endif
