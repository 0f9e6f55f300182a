/*
 * kv - a bucket of keys and values, with their history, on a stream.
 *
 *     struct nats_kv kv = { .js = js, .bucket = "jobs" };
 *     nats_kv_put(&kv, "a.b", STR("value"), on_put, self, err);
 *
 * Bucket b is the stream KV_b; key k is its subject $KV.b.k; the revision of an entry is its
 * sequence in the stream. Other NATS clients use the same layout. Every operation calls back
 * exactly once unless it fails immediately. An outdated expected revision is NATS_FAULT_CONFLICT; a
 * missing or deleted key is NATS_FAULT_NOT_FOUND.
 *
 * Keys are letters, digits and -_=/. with tokens between dots. Memory: entries are valid during
 * their callback. Threads: the loop's.
 */
#ifndef FLEET_NATS_KV_H
#define FLEET_NATS_KV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/js.h"
#include "fleet/nats/publisher.h"

struct err;
struct nats_error;

/* A value: may be copied; texts are borrowed and must outlive its operations. */
struct nats_kv {
    struct nats_js js;
    const char *bucket;
    bool indirect;    /* read from the leader only, to see the latest write */
    bool settled;     /* a successful update is the only one; see nats_kv_update */
    unsigned history; /* history of the bucket, for purges only; 0: 1 */
};

struct nats_kv_config {
    const char *bucket, *description;
    int64_t history; /* revisions kept of each key, 1 to 64; 0: 1 */
    int64_t ttl;     /* of every entry; 0: unlimited */
    int64_t max_bytes, max_value_size, replicas;
    bool keeps_max_bytes; /* keep an existing limit */
    bool discard_old;     /* when full, drop the oldest entries; default: refuse new ones */
    bool memory;
    bool no_rollup; /* a writer cannot remove entries of others; objects need roll-ups, keys do not
                     */
    const char *republish_source, *republish_destination; /* NULL: not republished */
};

/* Creates the bucket, or updates a different one. */
int nats_kv_ensure(const struct nats_js *js, const struct nats_kv_config *config, nats_done_fn *fn,
                   void *self, struct err *err);
int nats_kv_destroy(const struct nats_js *js, const char *bucket, nats_done_fn *fn, void *self,
                    struct err *err);

/* Is it a valid key? */
bool nats_kv_is_key(const char *text);

enum nats_kv_change { NATS_KV_PUT, NATS_KV_DELETE, NATS_KV_PURGE };

struct nats_kv_entry {
    struct str key, value;
    uint64_t revision;
    int64_t time; /* nanoseconds since 1970 */
    enum nats_kv_change change;
    /* A server's reply, not an entry: a request may name any reply subject, and servers do not
     * check whether the client may publish there. Its value is empty, and it is never a delete
     * marker, even if the reply copies one. Reported by a get from the leader, a watch and a list;
     * a direct get detects only some. */
    bool is_answer;
};

typedef void nats_kv_entry_fn(void *self, const struct nats_error *error,
                              const struct nats_kv_entry *entry);
typedef void nats_kv_revision_fn(void *self, const struct nats_error *error, uint64_t revision);

int nats_kv_get(const struct nats_kv *kv, const char *key, nats_kv_entry_fn *fn, void *self,
                struct err *err);
/* A revision of the key; one of another key is NATS_FAULT_NOT_FOUND. */
int nats_kv_get_revision(const struct nats_kv *kv, const char *key, uint64_t revision,
                         nats_kv_entry_fn *fn, void *self, struct err *err);
int nats_kv_put(const struct nats_kv *kv, const char *key, struct str value,
                nats_kv_revision_fn *fn, void *self, struct err *err);
/* Only if the key is missing or deleted. */
int nats_kv_create(const struct nats_kv *kv, const char *key, struct str value,
                   nats_kv_revision_fn *fn, void *self, struct err *err);
/* Only if this is its last revision.  A cluster compares before it replicates (2.9), so it may
 * accept several concurrent updates that expect the same revision, and the last one stays. The same
 * goes for a create over a delete marker, but not for a new key. With `settled`, the call returns
 * once all concurrent updates are stored, which costs another message to the bucket, and is
 * NATS_FAULT_CONFLICT unless its entry is still the last one. */
int nats_kv_update(const struct nats_kv *kv, const char *key, struct str value, uint64_t revision,
                   nats_kv_revision_fn *fn, void *self, struct err *err);
/* Puts by a publisher of the same connection, which retries until it is stored. `create`: never
 * replaces an entry; the callback may get NATS_FAULT_CONFLICT for its own stored entry. */
int nats_kv_publish(const struct nats_kv *kv, struct nats_publisher *publisher, const char *key,
                    struct str value, bool create, nats_stored_ack_fn *fn, void *self,
                    struct err *err);
/* Leaves a marker, and the history before it; `revision` 0: any. */
int nats_kv_delete(const struct nats_kv *kv, const char *key, uint64_t revision,
                   nats_kv_revision_fn *fn, void *self, struct err *err);
/* Leaves only markers, as many as the bucket keeps revisions (`history`). With fewer, older values
 * stay in the stream, invisible to a get. */
int nats_kv_purge(const struct nats_kv *kv, const char *key, uint64_t revision,
                  nats_kv_revision_fn *fn, void *self, struct err *err);

/* --- many --------------------------------------------------------------------------- */

struct nats_kv_watch;

struct nats_kv_watch_options {
    const char *pattern;  /* of keys; NULL: all */
    bool history;         /* all kept revisions, not only the last of each key */
    bool new_only;        /* only new changes */
    bool without_values;  /* keys and changes only */
    bool without_deletes; /* puts only */
    bool once;            /* a key that changes meanwhile is not reported again */
    void (*entry)(void *self, const struct nats_kv_entry *entry);
    void (*caught_up)(void *self); /* all existing entries were reported; may be NULL */
    nats_done_fn *failed;          /* it cannot continue; may be NULL */
    void *self;
};

/* Reports entries and changes, each change once and in order, even across reconnects. */
struct nats_kv_watch *nats_kv_watch_new(const struct nats_kv *kv,
                                        const struct nats_kv_watch_options *options,
                                        struct err *err);
/* May be called in its own callbacks. NULL is fine. */
void nats_kv_watch_free(struct nats_kv_watch *watch);

/* The current entries: calls `fn` for each, with `entry` NULL at the end, or with an error. A NULL
 * pattern: all keys. */
int nats_kv_keys(const struct nats_kv *kv, const char *pattern, nats_kv_entry_fn *fn, void *self,
                 struct err *err);
/* The same, with values. */
int nats_kv_list(const struct nats_kv *kv, const char *pattern, nats_kv_entry_fn *fn, void *self,
                 struct err *err);
int nats_kv_history(const struct nats_kv *kv, const char *key, nats_kv_entry_fn *fn, void *self,
                    struct err *err);

#endif
