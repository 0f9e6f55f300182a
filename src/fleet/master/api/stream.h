/*
 * api_stream - a streaming answer: events for a client (text/event-stream) as they happen.
 *
 *     struct mine { struct api_stream stream; ... };
 *     if (!api_stream_has_room(call)) ...                    503
 *     api_stream_open(&mine->stream, call, &kind)            the call is over
 *     api_stream_send(&mine->stream, "return", &value)...
 *     api_stream_end(&mine->stream)
 *
 * A comment is sent at intervals, and the client's token is checked again: the stream ends when the
 * token was replaced, or when its operator lost the permission. A client that reads too slowly is
 * disconnected.
 *
 * Memory: the owner's struct, which must stay until `closed`. Threads: the loop's.
 */
#ifndef FLEET_MASTER_API_STREAM_H
#define FLEET_MASTER_API_STREAM_H

#include "fleet/master/api/call.h"
#include "core/sys/timers.h"

#define API_STREAMS_MAX 64
/* Send buffer per client: several of the largest returns. */
#define API_STREAM_BYTES_MAX ((size_t)8 << 20)
#define API_STREAM_BEAT_NS   (INT64_C(10) * 1000000000)

struct api_stream;
struct asker_check;

struct api_stream_kind {
    /* A comment is due: check for missed items. May be NULL. */
    void (*beat)(struct api_stream *stream);
    /* The stream has ended, by either side; the last call. */
    void (*closed)(struct api_stream *stream);
};

struct api_stream {
    struct api *api;
    const struct api_stream_kind *kind;
    struct http_stream *http;
    struct api_digest digest;
    enum api_act act;          /* the permission it needs */
    char *user;                /* the user who opened it */
    struct asker_check *check; /* under way, or NULL */
    struct timer timer;
};

/* False: the call is answered. */
bool api_stream_has_room(struct api_call *call);
/* False: the client is gone; nothing was opened. */
bool api_stream_open(struct api_stream *stream, struct api_call *call,
                     const struct api_stream_kind *kind);
void api_stream_send(struct api_stream *stream, const char *event, const struct value *data);
/* Ends the stream after the data sent. `closed` is called before this returns. */
void api_stream_end(struct api_stream *stream);

#endif
