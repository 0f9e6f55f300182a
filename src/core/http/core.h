/*
 * core - the inside of the server: listeners, connections, requests, streams. For src/core/http
 * only.
 *
 * A server is a listening socket and engines of the library, each with one certificate. All engines
 * but the newest stop accepting, and end with their last connection.
 */
#ifndef CORE_HTTP_CORE_H
#define CORE_HTTP_CORE_H

#include <microhttpd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/http/server.h"
#include "core/sys/loop.h"

#define HTTP_ENGINE_TEXT 256

struct http_engine {
    struct http_server *server;
    struct MHD_Daemon *daemon;
    struct watch watch;
    struct timer timer;
    char problem[HTTP_ENGINE_TEXT]; /* the last message of the library */
    struct http_engine *next;       /* older */
};

struct http_server {
    struct arena arena;
    struct http_options options;
    int fd;
    uint16_t port;
    struct http_engine *engines; /* the newest first */
    struct http_exchange *exchanges;
    struct http_stream *streams;
};

/* A connection, with the deadline of its next step. */
struct http_line {
    struct http_server *server;
    struct timer deadline;
    int fd;
};

/* A header of an answer. */
struct http_header_line {
    const char *name, *value;
    struct http_header_line *next;
};

/* One request, from its head to its answer. */
struct http_exchange {
    struct http_request request;
    struct arena arena;
    struct http_server *server; /* NULL: the server is gone */
    struct MHD_Connection *connection;
    struct http_engine *engine;
    const struct http_route *route;
    struct http_header_line *headers; /* headers of the answer */
    struct buf body;
    bool is_whole, is_suspended, is_in_handler;
    bool is_answered;
    struct MHD_Response *response; /* to be queued */
    unsigned status;
    struct http_exchange *next, **back;
};

struct http_stream {
    struct http_server *server;
    struct MHD_Connection *connection;
    struct http_engine *engine;
    struct buf out;
    bool is_suspended, is_ended;
    http_closed_fn *closed; /* NULL: no callback */
    void *self;
    struct http_stream *next, **back;
};

/* Let the library handle changes in the next turn. */
void http_engine_wake(struct http_engine *engine);

/* Callbacks of the library. */
enum MHD_Result http_on_request(void *self, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *size, void **slot);
void http_on_completed(void *self, struct MHD_Connection *connection, void **slot,
                       enum MHD_RequestTerminationCode reason);

/* The next step of `connection` must happen within `ns`; 0: no limit. */
void http_line_expect(struct MHD_Connection *connection, int64_t ns);

/* Add the headers of every answer, and those set for this one. */
void http_add_headers(const struct http_exchange *exchange, struct MHD_Response *response,
                      const char *type, const char *cache);
/* Give the exchange its answer; the library owns the response afterwards. */
void http_exchange_finish(struct http_exchange *exchange, unsigned status,
                          struct MHD_Response *response);

/* Free an exchange whose client is gone. */
void http_exchange_drop(struct http_exchange *exchange);

/* The server ends: release everything that waits. */
void http_exchanges_abandon(struct http_server *server);
void http_streams_abandon(struct http_server *server);

#endif
