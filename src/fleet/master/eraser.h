/*
 * eraser - removes keys of buckets, however long the bus takes to find a leader.
 *
 * What cannot be removed is tried again every second, for ERASER_TRIES_MAX times, with a warning in
 * the log for each. Callers have nobody to tell, so nothing is reported back.
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
/* Whatever has not been removed yet stays. NULL is fine. */
void eraser_free(struct eraser *eraser);

/* Remove a key, with its history. */
void eraser_remove(struct eraser *eraser, const struct nats_kv *kv, const char *key);
/* Remove all keys that match: "web-01.>". */
void eraser_remove_all(struct eraser *eraser, const struct nats_kv *kv, const char *pattern);

/* Remove what a peel that was revoked has left: facts, secrets, heartbeat, basket. */
void eraser_remove_peel(struct eraser *eraser, const struct nats_js *js, const char *peel);

/* How many keys and patterns are not done yet. */
size_t eraser_waiting(const struct eraser *eraser);

#endif
