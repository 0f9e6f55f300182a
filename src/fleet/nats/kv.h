/*
 * kv - a bucket of keys and values, with their history, on a stream.
 *
 *     struct nats_kv kv = { .js = js, .bucket = "jobs" };
 *     nats_kv_put(&kv, "a.b", STR("value"), on_put, self, err);
 *
 * Bucket b is the stream KV_b; key k is its subject $KV.b.k; the revision of an entry is its
 * sequence in the stream. Other clients of NATS use the same layout. Every operation calls back
 * exactly once unless it fails at once. An expected revision that is not the last one is
 * NATS_FAULT_CONFLICT; a key that is not there, or deleted, NATS_FAULT_NOT_FOUND.
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

/* A value: may be copied; texts are borrowed and must outlive what was begun with it. */
struct nats_kv {
    struct nats_js js;
    const char *bucket;
    bool indirect;    /* read from the leader only: what was just written is seen */
    bool settled;     /* an update that succeeds is the only one; see below */
    unsigned history; /* revisions that the bucket keeps; only a purge needs it, 0 is 1 */
};

struct nats_kv_config {
    const char *bucket, *description;
    int64_t history; /* entries kept for each key, 1 to 64; 0: 1 */
    int64_t ttl;     /* of every entry; 0: for ever */
    int64_t max_bytes, max_value_size, replicas;
    bool keeps_max_bytes; /* a limit that is there stays */
    bool discard_old;     /* when it is full the oldest entries go; else new ones are refused */
    bool memory;
    bool no_rollup; /* a writer cannot remove what others wrote; objects need roll-ups, keys do not
                     */
    const char *republish_source, *republish_destination; /* NULL: not republished */
};

/* Make the bucket, or change one that differs. */
int nats_kv_ensure(const struct nats_js *js, const struct nats_kv_config *config, nats_done_fn *fn,
                   void *self, struct err *err);
int nats_kv_destroy(const struct nats_js *js, const char *bucket, nats_done_fn *fn, void *self,
                    struct err *err);

/* Can it be a key? */
bool nats_kv_is_key(const char *text);

enum nats_kv_change { NATS_KV_PUT, NATS_KV_DELETE, NATS_KV_PURGE };

struct nats_kv_entry {
    struct str key, value;
    uint64_t revision;
    int64_t time; /* nanoseconds since 1970 */
    enum nats_kv_change change;
    /* Not an entry that somebody wrote, but what a server answered: a request may name any subject
     * for its answer, and servers do not ask whether the asker may publish there. Its value is
     * empty, and it is never the mark of a delete, which an answer can be a copy of. Told by a get
     * from the leader, a watch and a list; a direct get knows some of them. */
    bool is_answer;
};

typedef void nats_kv_entry_fn(void *self, const struct nats_error *error,
                              const struct nats_kv_entry *entry);
typedef void nats_kv_revision_fn(void *self, const struct nats_error *error, uint64_t revision);

int nats_kv_get(const struct nats_kv *kv, const char *key, nats_kv_entry_fn *fn, void *self,
                struct err *err);
/* As it was then; a revision of another key is NATS_FAULT_NOT_FOUND. */
int nats_kv_get_revision(const struct nats_kv *kv, const char *key, uint64_t revision,
                         nats_kv_entry_fn *fn, void *self, struct err *err);
int nats_kv_put(const struct nats_kv *kv, const char *key, struct str value,
                nats_kv_revision_fn *fn, void *self, struct err *err);
/* Only when the key is not there, or deleted. */
int nats_kv_create(const struct nats_kv *kv, const char *key, struct str value,
                   nats_kv_revision_fn *fn, void *self, struct err *err);
/* Only when its last revision is this one.
 *
 * A cluster compares before it replicates (2.9), so of several updates that expect one revision at
 * the same moment it may accept all, and the last one stays. The same goes for a create on the mark
 * of a deleted entry, but not for one where nothing ever was. With `settled` the call comes back
 * when everything that could be accepted beside it is stored, which takes another message to the
 * bucket, and is NATS_FAULT_CONFLICT unless its entry is still the last one. */
int nats_kv_update(const struct nats_kv *kv, const char *key, struct str value, uint64_t revision,
                   nats_kv_revision_fn *fn, void *self, struct err *err);
/* By a publisher of the same connection, which tries until it is stored. `create`: never in place
 * of an entry; its callback may say NATS_FAULT_CONFLICT for what it stored itself. */
int nats_kv_publish(const struct nats_kv *kv, struct nats_publisher *publisher, const char *key,
                    struct str value, bool create, nats_stored_ack_fn *fn, void *self,
                    struct err *err);
/* Leave a mark, and the history before it; `revision` 0: whatever is there. */
int nats_kv_delete(const struct nats_kv *kv, const char *key, uint64_t revision,
                   nats_kv_revision_fn *fn, void *self, struct err *err);
/* Leave marks alone: as many as there are revisions (`history`). With fewer, older values stay in
 * the stream, where a get does not see them. */
int nats_kv_purge(const struct nats_kv *kv, const char *key, uint64_t revision,
                  nats_kv_revision_fn *fn, void *self, struct err *err);

/* --- many --------------------------------------------------------------------------- */

struct nats_kv_watch;

struct nats_kv_watch_options {
    const char *pattern;  /* of keys; NULL: all */
    bool history;         /* all entries that are kept, not the last of each key only */
    bool new_only;        /* nothing of what is there */
    bool without_values;  /* keys and changes only */
    bool without_deletes; /* puts only */
    bool once;            /* a key that changes meanwhile is not reported again */
    void (*entry)(void *self, const struct nats_kv_entry *entry);
    void (*caught_up)(void *self); /* everything that was there was reported; may be NULL */
    nats_done_fn *failed;          /* it cannot go on; may be NULL */
    void *self;
};

/* Tell what is there and what changes, each change once and in order, also across reconnects. */
struct nats_kv_watch *nats_kv_watch_new(const struct nats_kv *kv,
                                        const struct nats_kv_watch_options *options,
                                        struct err *err);
/* In its own callbacks, too. NULL is fine. */
void nats_kv_watch_free(struct nats_kv_watch *watch);

/* What is there now: `fn` for each entry, with `entry` NULL at the end, or with an error. A pattern
 * of NULL is all keys. */
int nats_kv_keys(const struct nats_kv *kv, const char *pattern, nats_kv_entry_fn *fn, void *self,
                 struct err *err);
/* The same with the values. */
int nats_kv_list(const struct nats_kv *kv, const char *pattern, nats_kv_entry_fn *fn, void *self,
                 struct err *err);
int nats_kv_history(const struct nats_kv *kv, const char *key, nats_kv_entry_fn *fn, void *self,
                    struct err *err);

#endif
