/*
 * eraser - removes keys from buckets, and retries while the bus has no leader.
 *
 * A failed removal is tried again every second, up to ERASER_TRIES_MAX times, with a warning each.
 * Callers get no result.
 *
 * Memory: eraser_free. Threads: the loop's.
 */
#ifndef FLEET_MASTER_ERASER_H
#define FLEET_MASTER_ERASER_H

#include <stddef.h>

struct eraser;
struct loop;
struct nats_js;
struct nats_kv;

#define ERASER_TRIES_MAX 120

struct eraser *eraser_new(struct loop *loop);
/* Pending keys are not removed. NULL is fine. */
void eraser_free(struct eraser *eraser);

/* Remove a key, with its history. */
void eraser_remove(struct eraser *eraser, const struct nats_kv *kv, const char *key);
/* Remove all keys that match: "web-01.>". */
void eraser_remove_all(struct eraser *eraser, const struct nats_kv *kv, const char *pattern);

/* Remove the data of a revoked peel: facts, secrets, heartbeat, basket. */
void eraser_remove_peel(struct eraser *eraser, const struct nats_js *js, const char *peel);

/* The number of pending keys and patterns. */
size_t eraser_waiting(const struct eraser *eraser);

#endif
