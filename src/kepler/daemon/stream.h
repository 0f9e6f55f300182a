/*
 * stream - sends stored lines to a client, in bundles.
 *
 * An event "lines" holds a list of lines, each a list of seven: number, time, service, hook,
 * stream, flags, text. A worker reads the next bundle when there are lines and the connection can
 * send, so that a slow disk or a long search delays no other client.
 *
 *     stream_new -> { stream_renew, stream_pump }... -> [stream_drain] -> stream_free
 *
 * Memory: the heap. Threads: the loop's; the worker is internal.
 */
#ifndef KEPLER_DAEMON_STREAM_H
#define KEPLER_DAEMON_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "kepler/logs/log_filter.h"

struct call;
struct stream;

/* Maximum size of one bundle. */
#define STREAM_LINES_MAX 512
#define STREAM_BYTES_MAX ((size_t)256 << 10)
/* Bundles that stream_drain sends. */
#define STREAM_DRAIN_MAX 32
/* Shown while lines arrive faster than they can be read. */
#define STREAM_LATE_LINES 1000

struct stream_options {
    const char *folder;       /* of the store */
    struct log_filter filter; /* copied, with its texts */
    const char *query;        /* a valid one, or NULL; copied */
    bool is_sql;              /* the query is a clause in SQL, and perhaps not valid */
    bool follow;
    bool fresh; /* only new lines, including those cleared right away */
    bool has_head, has_tail;
    uint64_t head, tail;
    uint64_t before; /* without `follow`: only lines with a lower number; 0: all */
};

/* The call is notified through call_streamed. */
struct stream *stream_new(const struct stream_options *options, struct call *call);
/* NULL is fine. */
void stream_free(struct stream *stream);

/* Lines were written: followers have more to read. */
void stream_renew(struct stream *stream);
/* Reads on, if there are lines and the client can receive. */
void stream_pump(struct stream *stream);
/* Are there unsent lines? */
bool stream_has_more(const struct stream *stream);
/* The store is about to close: sends the lines there are, as far as they fit, synchronously. */
void stream_drain(struct stream *stream);

/* Does it continue with new lines? */
bool stream_follows(const struct stream *stream);
/* Have all wanted lines been sent? */
bool stream_is_done(const struct stream *stream);
/* Why it cannot continue, or NULL. */
const struct err *stream_error(const struct stream *stream);

#endif
