/*
 * stream - creates, updates and reads JetStream streams.
 *
 *     nats_stream_ensure(&js, &(struct nats_stream_config){ .name = "EVENTS", ... }, fn, self, err)
 *
 * The server's answer is compared with the request, see fleet/nats/fields.h. Zero is the default of
 * each setting. Memory: configurations are copied; an answer is valid during its callback. Threads:
 * the loop's.
 */
#ifndef FLEET_NATS_STREAM_H
#define FLEET_NATS_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/fields.h"

struct err;
struct nats_error;
struct nats_js;
struct value;

enum nats_retention { NATS_RETENTION_LIMITS, NATS_RETENTION_INTEREST, NATS_RETENTION_WORKQUEUE };
enum nats_storage { NATS_STORAGE_FILE, NATS_STORAGE_MEMORY };
enum nats_discard { NATS_DISCARD_OLD, NATS_DISCARD_NEW };
enum nats_compression { NATS_COMPRESSION_NONE, NATS_COMPRESSION_S2 };

struct nats_stream_config {
    const char *name, *description;
    struct nats_texts subjects;
    int retention, storage, discard; /* of the enums above */
    int compression;                 /* needs server 2.10 */
    int64_t max_consumers, max_msgs, max_bytes, max_age, max_msgs_per_subject, max_msg_size;
    int64_t replicas, duplicate_window;
    bool keeps_max_bytes; /* nats_stream_ensure: keep an existing limit */
    bool allow_direct, allow_rollup, deny_delete, deny_purge, no_ack, discard_new_per_subject;
    const char *republish_source, *republish_destination;
    bool republish_headers_only;
};

struct nats_stream_info {
    int64_t messages, bytes, consumers, subjects;
    uint64_t first_seq, last_seq;
    const struct value *config; /* as stored by the server */
    const struct value *reply;  /* the whole answer */
};

/* `error` is NULL, or `info` is. */
typedef void nats_stream_fn(void *self, const struct nats_error *error,
                            const struct nats_stream_info *info);

/* Succeeds if an equal stream exists. */
int nats_stream_create(const struct nats_js *js, const struct nats_stream_config *config,
                       nats_stream_fn *fn, void *self, struct err *err);
int nats_stream_update(const struct nats_js *js, const struct nats_stream_config *config,
                       nats_stream_fn *fn, void *self, struct err *err);
/* Creates it, or updates a different one. A difference that cannot be updated fails with both
 * values. Never sets max_bytes below twice the stored size, because a server would delete the rest.
 * */
int nats_stream_ensure(const struct nats_js *js, const struct nats_stream_config *config,
                       nats_stream_fn *fn, void *self, struct err *err);
/* The same, without the information. */
int nats_stream_ensure_done(const struct nats_js *js, const struct nats_stream_config *config,
                            nats_done_fn *fn, void *self, struct err *err);
int nats_stream_info(const struct nats_js *js, const char *name, nats_stream_fn *fn, void *self,
                     struct err *err);
int nats_stream_delete(const struct nats_js *js, const char *name, nats_done_fn *fn, void *self,
                       struct err *err);

/* Zero: all messages. */
struct nats_purge {
    const char *subject; /* only this subject; may be a pattern */
    uint64_t keep;       /* except the last ones */
    uint64_t below;      /* only messages before this sequence */
};
int nats_stream_purge(const struct nats_js *js, const char *name, const struct nats_purge *purge,
                      nats_done_fn *fn, void *self, struct err *err);

/* A stored message. */
struct nats_stored {
    uint64_t seq;
    int64_t time; /* nanoseconds since 1970; 0: not known */
    struct str subject, header, payload;
};
typedef void nats_stored_fn(void *self, const struct nats_error *error,
                            const struct nats_stored *stored);

/* Selects a message: by sequence, the last one of a subject, or its first from a sequence on. */
struct nats_which {
    uint64_t seq;
    const char *last_of, *next_of;
    bool direct; /* any replica may answer; if the stream allows it */
};
int nats_stream_get(const struct nats_js *js, const char *name, const struct nats_which *which,
                    nats_stored_fn *fn, void *self, struct err *err);

#endif
