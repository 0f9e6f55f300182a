/* Streams of events (text/event-stream): events wait in a buffer until the library asks. */
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "core/http/core.h"

#define BLOCK_SIZE 4096

static void end_http_stream(struct http_stream *stream)
{
    *stream->back = stream->next;
    if (stream->next)
        stream->next->back = stream->back;
    buf_done(&stream->out);
    free(stream);
}

/* The library's last call: the connection is over, on whichever side it ended. */
static void on_free(void *self)
{
    struct http_stream *stream = self;
    http_closed_fn *closed = stream->closed;
    void *owner = stream->self;

    end_http_stream(stream);
    if (closed)
        closed(owner);
}

static ssize_t on_stream_read(void *self, uint64_t position, char *into, size_t max)
{
    struct http_stream *stream = self;
    size_t n = stream->out.n < max ? stream->out.n : max;

    (void)position;
    if (n > 0) {
        memcpy(into, stream->out.p, n);
        buf_consume(&stream->out, n);
        return (ssize_t)n;
    }
    if (stream->is_ended || stream->out.full)
        return MHD_CONTENT_READER_END_OF_STREAM;
    stream->is_suspended = true;
    MHD_suspend_connection(stream->connection);
    return 0;
}

static void wake_stream(struct http_stream *stream)
{
    if (!stream->is_suspended)
        return;
    stream->is_suspended = false;
    MHD_resume_connection(stream->connection);
    http_engine_wake(stream->engine);
}

struct http_stream *http_stream_new(struct http_request *request, http_closed_fn *closed,
                                    void *self)
{
    struct http_exchange *exchange = container_of(request, struct http_exchange, request);
    struct http_server *server = exchange->server;
    struct MHD_Response *response;
    struct http_stream *stream;

    if (!server) {
        http_exchange_drop(exchange);
        return NULL;
    }
    stream = mem_zalloc(sizeof(*stream));
    stream->out = (struct buf)BUF_INIT(HTTP_STREAM_MAX);
    stream->closed = closed;
    stream->self = self;
    stream->server = server;
    stream->connection = exchange->connection;
    stream->engine = exchange->engine;
    stream->next = server->streams;
    stream->back = &server->streams;
    if (stream->next)
        stream->next->back = &stream->next;
    *stream->back = stream;
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, on_stream_read,
                                                 stream, on_free);
    http_add_headers(exchange, response, "text/event-stream", NULL);
    http_exchange_finish(exchange, MHD_HTTP_OK, response);
    return stream;
}

void http_stream_set_max(struct http_stream *stream, size_t bytes)
{
    stream->out.max = bytes;
}

void http_stream_send(struct http_stream *stream, const char *event, const char *data)
{
    buf_printf(&stream->out, "event: %s\ndata: %s\n\n", event, data);
    wake_stream(stream);
}

void http_stream_beat(struct http_stream *stream)
{
    buf_add_text(&stream->out, ": still waiting\n\n");
    wake_stream(stream);
}

void http_stream_end(struct http_stream *stream)
{
    stream->is_ended = true;
    stream->closed = NULL;
    wake_stream(stream);
}

void http_streams_abandon(struct http_server *server)
{
    for (struct http_stream *stream = server->streams; stream; stream = stream->next) {
        stream->is_ended = true;
        if (stream->is_suspended) {
            stream->is_suspended = false;
            MHD_resume_connection(stream->connection);
        }
    }
}
