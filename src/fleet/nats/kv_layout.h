/*
 * kv_layout - the layout of a bucket in its stream: names, subjects, markers. For kv.c and
 * kv_watch.c.
 */
#ifndef FLEET_NATS_KV_LAYOUT_H
#define FLEET_NATS_KV_LAYOUT_H

#include <stdbool.h>

#include "core/base/str.h"
#include "fleet/nats/kv.h"

struct buf;
struct err;
struct nats_stored;

/* Key of the marker that settles an update; watches skip it. */
#define NATS_KV_FENCE "_fence"

/* Checks a key, or a pattern of keys. */
int nats_kv_layout_check(const struct nats_kv *kv, const char *key, bool pattern, struct err *err);
void nats_kv_layout_stream(const struct nats_kv *kv, struct buf *out);
void nats_kv_layout_subject(const struct nats_kv *kv, const char *key, struct buf *out);
/* The key of a subject of this bucket. */
struct str nats_kv_layout_key(const struct nats_kv *kv, struct str subject);
/* The entry of a stored message; `is_direct`: from a direct get. */
struct nats_kv_entry nats_kv_layout_entry(const struct nats_kv *kv,
                                          const struct nats_stored *stored, bool is_direct);

#endif
