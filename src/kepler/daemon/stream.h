/*
 * stream - stored lines on their way to a client, in bundles.
 *
 * An event "lines" holds a list of lines, each a list of seven: number, time, service,
 * hook, stream, flags, text. A worker reads the next bundle when there is something to read
 * and the connection has room, so that nobody else waits for a slow disk or a long search.
 *
 *     stream_new -> { stream_renew, stream_pump }... -> [stream_drain] -> stream_free
 *
 * Memory: the heap. Threads: the loop's; the worker is its own affair.
 */
#ifndef KEPLER_DAEMON_STREAM_H
#define KEPLER_DAEMON_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "kepler/logs/log_filter.h"

struct call;
struct stream;

/* Of one bundle. */
#define STREAM_LINES_MAX 512
#define STREAM_BYTES_MAX ((size_t)256 << 10)
/* Bundles that stream_drain sends. */
#define STREAM_DRAIN_MAX 32
/* Shown of somebody who writes faster than can be read. */
#define STREAM_LATE_LINES 1000

struct stream_options {
    const char *folder;       /* of the store */
    struct log_filter filter; /* copied, with its texts */
    const char *query;        /* a valid one, or NULL; copied */
    bool is_sql;              /* the query is a clause in SQL, and perhaps not valid */
    bool follow;
    bool fresh; /* only lines that come: those that are cleared right away are shown as well */
    bool has_head, has_tail;
    uint64_t head, tail;
    uint64_t before; /* without `follow`: lines with a lower number only; 0: all there are */
};

/* The call is notified through call_streamed. */
struct stream *stream_new(const struct stream_options *options, struct call *call);
/* NULL is fine. */
void stream_free(struct stream *stream);

/* Something was written: who follows has more to read. */
void stream_renew(struct stream *stream);
/* Read on, if there is something to read and room for it. */
void stream_pump(struct stream *stream);
/* Not all that is there has been sent. */
bool stream_has_more(const struct stream *stream);
/* The store goes: send what there is and fits now, and wait for it. */
void stream_drain(struct stream *stream);

/* It goes on with what comes. */
bool stream_follows(const struct stream *stream);
/* All that was wanted has been sent. */
bool stream_is_done(const struct stream *stream);
/* Why it cannot go on, or NULL. */
const struct err *stream_error(const struct stream *stream);

#endif
