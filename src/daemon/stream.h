/*
 * stream - stored lines on their way to a client, in bundles.
 *
 * An event "lines" holds a list of lines, each a list of seven: number, time, service,
 * hook, stream, flags, text. The next bundle is sent when the connection has room.
 *
 * Memory: the heap. Threads: the loop's.
 */
#ifndef DAEMON_STREAM_H
#define DAEMON_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "logs/log_filter.h"

struct call;
struct err;
struct stream;

/* Of one bundle. */
#define STREAM_LINES_MAX 512
#define STREAM_BYTES_MAX ((size_t)256 << 10)
/* Bundles in one turn of the loop. */
#define STREAM_BUNDLES_MAX 32

struct stream_options {
    const char *folder; /* of the store */
    struct log_filter filter;
    bool follow;
    bool has_head, has_tail;
    uint64_t head, tail;
};

/* The filter's texts must live as long. */
int stream_new(const struct stream_options *options, struct stream **ret_stream, struct err *err);
void stream_free(struct stream *stream);

/* Send what there is and fits now. `ret_done` is set when that was the last. */
void stream_pump(struct stream *stream, struct call *call, bool *ret_done);
/* The last pump left something for later. */
bool stream_has_more(const struct stream *stream);

#endif
