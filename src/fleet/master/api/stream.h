/*
 * api_stream - an answer that goes on: events for a client (text/event-stream) as they happen.
 *
 *     struct mine { struct api_stream stream; ... };
 *     if (!api_stream_has_room(call)) ...                    503
 *     api_stream_open(&mine->stream, call, &kind)            the call is over
 *     api_stream_send(&mine->stream, "return", &value)...
 *     api_stream_end(&mine->stream)
 *
 * A comment is sent now and then, and the token of the client is looked at again: when it was
 * replaced, or its operator may no longer read this, the stream ends. A client that reads too
 * slowly is cut off.
 *
 * Memory: the owner's struct, which must stay until `closed`. Threads: the loop's.
 */
#ifndef FLEET_MASTER_API_STREAM_H
#define FLEET_MASTER_API_STREAM_H

#include "fleet/master/api/call.h"
#include "core/sys/timers.h"

#define API_STREAMS_MAX 64
/* What may wait to be sent to one client: several of the largest returns. */
#define API_STREAM_BYTES_MAX ((size_t)8 << 20)
#define API_STREAM_BEAT_NS   (INT64_C(10) * 1000000000)

struct api_stream;
struct asker_check;

struct api_stream_kind {
    /* Time for a comment: look whether something was missed. May be NULL. */
    void (*beat)(struct api_stream *stream);
    /* The stream is over, whoever ended it; the last call. */
    void (*closed)(struct api_stream *stream);
};

struct api_stream {
    struct api *api;
    const struct api_stream_kind *kind;
    struct http_stream *http;
    struct api_digest digest;
    enum api_act act;          /* what it reads */
    char *user;                /* who has opened it */
    struct asker_check *check; /* under way, or NULL */
    struct timer timer;
};

/* False: the call is answered. */
bool api_stream_has_room(struct api_call *call);
/* False: the client is gone, and nothing was opened. */
bool api_stream_open(struct api_stream *stream, struct api_call *call,
                     const struct api_stream_kind *kind);
void api_stream_send(struct api_stream *stream, const char *event, const struct value *data);
/* After what was sent. `closed` is called before this returns. */
void api_stream_end(struct api_stream *stream);

#endif
