/*
 * snapshot - copies a stream out of a server, and back: messages with their sequences, times,
 * subjects and headers, and the consumers with their positions.
 *
 *     nats_snapshot_take(&js, "EVENTS", &(struct nats_snapshot_reader){ ... }, err)
 *         begin    what the stream is: its configuration and state, as JSON
 *         chunk    bytes, in order; each is acknowledged after the callback, so little is in memory
 *         done     all came, or an error
 *
 *     nats_snapshot_restore(&js, &source, err)
 *         next     the next bytes of such a copy, or none at its end
 *         done     the stream is there whole, or not at all
 *
 * The format is that of the server: a later version reads it, an earlier one may not. Streams in
 * memory have no snapshots. A restore needs a name without a stream.
 *
 * Memory: texts and the struct are borrowed until `done`, which is called exactly once unless the
 * call fails. Threads: the loop's.
 */
#ifndef FLEET_NATS_SNAPSHOT_H
#define FLEET_NATS_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "fleet/nats/conn.h"

struct err;
struct nats_js;
struct value;

/* Bytes of a chunk. */
#define NATS_SNAPSHOT_CHUNK ((size_t)128 << 10)
/* Without a chunk for so long, it has failed. */
#define NATS_SNAPSHOT_IDLE_NS (INT64_C(30) * 1000000000)
/* For a server to check a stream, and to unpack one. */
#define NATS_SNAPSHOT_SETTLE_NS (INT64_C(600) * 1000000000)

struct nats_snapshot_reader {
    /* Each returns -1 to stop. */
    int (*begin)(void *self, const struct value *config, const struct value *state,
                 struct err *err);
    int (*chunk)(void *self, struct str bytes, struct err *err);
    nats_done_fn *done;
    void *self;
};
int nats_snapshot_take(const struct nats_js *js, const char *stream,
                       const struct nats_snapshot_reader *reader, struct err *err);

struct nats_snapshot_source {
    const char *stream;
    struct str config, state; /* JSON */
    /* At the end: an empty view. */
    int (*next)(void *self, struct str *ret_bytes, struct err *err);
    nats_done_fn *done;
    void *self;
};
int nats_snapshot_restore(const struct nats_js *js, const struct nats_snapshot_source *source,
                          struct err *err);

#endif
