/*
 * kv_layout - how a bucket lies in its stream: names, subjects, marks. For kv.c and kv_watch.c.
 */
#ifndef FLEET_NATS_KV_LAYOUT_H
#define FLEET_NATS_KV_LAYOUT_H

#include <stdbool.h>

#include "core/base/str.h"
#include "fleet/nats/kv.h"

struct buf;
struct err;
struct nats_stored;

/* The key of the mark that is stored after an update to settle it; watches leave it out. */
#define NATS_KV_FENCE "_fence"

/* A key, or a pattern of keys. */
int nats_kv_layout_check(const struct nats_kv *kv, const char *key, bool pattern, struct err *err);
void nats_kv_layout_stream(const struct nats_kv *kv, struct buf *out);
void nats_kv_layout_subject(const struct nats_kv *kv, const char *key, struct buf *out);
/* The key of a subject of this bucket. */
struct str nats_kv_layout_key(const struct nats_kv *kv, struct str subject);
/* The entry of a message as it is stored; `is_direct`: as a direct get has it. */
struct nats_kv_entry nats_kv_layout_entry(const struct nats_kv *kv,
                                          const struct nats_stored *stored, bool is_direct);

#endif
