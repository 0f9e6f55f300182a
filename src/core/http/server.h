/*
 * server - HTTP and HTTPS on the loop: routes as a table, answers now or later, streams of events.
 *
 *     static const struct http_route routes[] = {
 *         { "GET", "/healthz", on_health },
 *         { "GET", "/things/{name}", on_thing },
 *         { 0 },
 *     };
 *     server = http_server_new(&(struct http_options){ .loop = loop, .address = "127.0.0.1:9091",
 *                                                      .routes = routes, .self = self }, err);
 *     ...
 *     static void on_thing(void *self, struct http_request *request)
 *     {
 *         http_answer(request, &(struct http_answer){ .status = 200, .body = STR("{}") });
 *     }
 *
 * With a certificate it speaks TLS 1.3 and nothing else. The certificate can be replaced while the
 * server runs: open connections keep the old one.
 *
 * A request is whole when its handler gets it. The handler answers it exactly once, now or later;
 * until then the client waits. Heads, bodies, connections, and the time for a request to arrive and
 * for an answer to leave all have limits.
 *
 * Memory: a request and everything it points to live until it is answered. Threads: the loop's.
 */
#ifndef CORE_HTTP_SERVER_H
#define CORE_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct err;
struct http_request;
struct http_server;
struct http_stream;
struct loop;
struct value;

#define HTTP_HEAD_MAX        ((size_t)16 << 10) /* request head, with its query */
#define HTTP_BODY_MAX        ((size_t)1 << 20)
#define HTTP_CONNECTIONS_MAX 1024
#define HTTP_STREAM_MAX      ((size_t)64 << 10) /* waiting to be sent */
/* Time for a request to arrive, handshake included, and for an answer to leave. */
#define HTTP_REQUEST_TIMEOUT_NS (INT64_C(10) * 1000000000)
/* Between requests of one connection. */
#define HTTP_IDLE_TIMEOUT_NS (INT64_C(60) * 1000000000)

typedef void http_handler_fn(void *self, struct http_request *request);

/* `path` may have one name in braces, which stands for one segment. A GET route also serves HEAD.
 */
struct http_route {
    const char *method, *path; /* NULL ends a table */
    http_handler_fn *fn;
};

/* Called for each answer, for logs and counters. */
typedef void http_answered_fn(void *self, const struct http_request *request, int status);

struct http_options {
    struct loop *loop;
    const char *address; /* see core/http/address.h */
    const struct http_route *routes;
    void *self;             /* for handlers */
    http_handler_fn *other; /* for paths without a route; NULL: 404 */
    void *other_self;
    http_answered_fn *answered;            /* may be NULL */
    const char *cert_pem, *key_pem;        /* a chain and its key; NULL: plain HTTP */
    size_t body_max;                       /* 0: HTTP_BODY_MAX */
    unsigned connections_max;              /* 0: HTTP_CONNECTIONS_MAX */
    int64_t request_timeout, idle_timeout; /* 0: see above */
};

/* Texts are copied; routes are borrowed. */
struct http_server *http_server_new(const struct http_options *options, struct err *err);
/* Connections end now. Open requests must still be answered. NULL is fine. */
void http_server_free(struct http_server *server);
uint16_t http_server_port(const struct http_server *server);
/* Applies to new connections. On failure the old certificate stays. */
int http_server_set_certificate(struct http_server *server, const char *cert_pem,
                                const char *key_pem, struct err *err);

/* --- requests ----------------------------------------------------------------------- */

struct http_request {
    const char *method, *path;
    const char *name;   /* the segment that matched the name in the route's path; "" without one */
    const char *remote; /* the remote host */
    struct str body;
    bool is_cut; /* the body exceeds `body_max`; only the handler of unknown paths sees one */
};

/* A value of the query or of a header; NULL when it is missing. */
const char *http_query(struct http_request *request, const char *key);
const char *http_header(struct http_request *request, const char *key);
/* Every key of the query, in order; a key without a value has an empty one. */
typedef void http_query_fn(void *self, const char *key, const char *value);
void http_query_each(struct http_request *request, http_query_fn *fn, void *self);

/* Set a header of the answer; replaces a default one of the same name. */
void http_set_header(struct http_request *request, const char *name, const char *value);

struct http_answer {
    int status;
    const char *type; /* NULL: application/json */
    struct str body;
    const char *cache;   /* Cache-Control; NULL: no-store */
    int64_t retry_after; /* seconds; 0: none */
};

/* Copies the answer and frees the request. */
void http_answer(struct http_request *request, const struct http_answer *answer);
/* A value as JSON. */
void http_answer_value(struct http_request *request, int status, const struct value *body);
/* {"error": text} */
void http_answer_error(struct http_request *request, int status, const char *text);

/* --- streams of events -------------------------------------------------------------- */

/* `closed` is called once when the client is gone, or reads too slowly; not after
 * http_stream_end. */
typedef void http_closed_fn(void *self);

/* Answer with a stream (text/event-stream); frees the request. NULL when the server is gone. */
struct http_stream *http_stream_new(struct http_request *request, http_closed_fn *closed,
                                    void *self);
/* Maximum size of events waiting to be sent; default: HTTP_STREAM_MAX. */
void http_stream_set_max(struct http_stream *stream, size_t bytes);
/* One event; neither text has a line end. */
void http_stream_send(struct http_stream *stream, const char *event, const char *data);
/* A comment that keeps the connection open. */
void http_stream_beat(struct http_stream *stream);
/* Ends after everything was sent. The caller must not use the stream again. */
void http_stream_end(struct http_stream *stream);

#endif
