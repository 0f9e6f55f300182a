/*
 * response - incremental parser of an HTTP/1.1 response.
 *
 *     struct response response = RESPONSE_INIT("host", size_max);
 *     while (!response.is_over)
 *         response_feed(&response, bytes, err), or response_end(&response, err) when it hangs up
 *     response_done(&response)
 *
 * The body has a length, comes in chunks, or ends with the connection. All input is bounded. If
 * `event` is set and the status is 200, the body is a stream of events (SSE), which are handed over
 * one by one and not kept.
 *
 * Pure. Memory: response_done. Threads: one at a time.
 */
#ifndef FLEET_ENROLL_RESPONSE_H
#define FLEET_ENROLL_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/str.h"

struct err;

#define RESPONSE_HEAD_MAX ((size_t)64 << 10)

struct response {
    const char *host; /* for errors */
    int status;
    int retry_after; /* seconds; 0: not given */
    struct buf body;
    bool is_over; /* complete, or `event` returned false */
    /* An event of a stream; false ends it. NULL: not a stream. */
    bool (*event)(void *self, struct str name, struct str data);
    void *self;
    /* input so far */
    struct buf in;
    bool has_head, is_chunked, has_length;
    size_t left; /* of the chunk, or of the body */
};

#define RESPONSE_INIT(host_, size_max)                                                             \
    {                                                                                              \
        .host = (host_), .body = BUF_INIT(size_max),                                               \
        .in = BUF_INIT(RESPONSE_HEAD_MAX + (size_max))                                             \
    }

/* Parses more bytes. Fails with ERR_INVALID, or ERR_LIMIT for too many. */
int response_feed(struct response *response, struct str bytes, struct err *err);
/* End of input. Fails with ERR_INVALID if the response is incomplete. */
int response_end(struct response *response, struct err *err);
void response_done(struct response *response);

#endif
