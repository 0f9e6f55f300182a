/* Requests and answers: from the library's callbacks to routes, and back. */
#include <string.h>
#include <strings.h>

#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "core/http/address.h"
#include "core/http/core.h"
#include "core/http/route.h"

#define TYPE_JSON "application/json"

enum { STATUS_NOT_FOUND = 404, STATUS_METHOD = 405, STATUS_TOO_LARGE = 413, STATUS_BROKEN = 500 };

/* clang-format off */
static const struct { const char *name, *value; bool tls_only; } common_headers[] = {
    { "Strict-Transport-Security", "max-age=31536000", true },
    { "X-Content-Type-Options", "nosniff", false },
    { "X-Frame-Options", "DENY", false },
    { "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'", false },
    { "Referrer-Policy", "no-referrer", false },
};
/* clang-format on */

static bool has_header(const struct http_exchange *exchange, const char *name)
{
    for (const struct http_header_line *line = exchange->headers; line; line = line->next)
        if (strcasecmp(line->name, name) == 0)
            return true;
    return false;
}

void http_add_headers(const struct http_exchange *exchange, struct MHD_Response *response,
                      const char *type, const char *cache)
{
    const bool is_tls = exchange->server->options.cert_pem;

    for (size_t i = 0; i < ARRAY_LEN(common_headers); i++)
        if ((is_tls || !common_headers[i].tls_only) &&
            !has_header(exchange, common_headers[i].name))
            (void)MHD_add_response_header(response, common_headers[i].name,
                                          common_headers[i].value);
    for (const struct http_header_line *line = exchange->headers; line; line = line->next)
        (void)MHD_add_response_header(response, line->name, line->value);
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL,
                                  cache ? cache : "no-store");
}

/* --- life of an exchange ------------------------------------------------------------ */

static struct http_exchange *new_exchange(struct http_engine *engine,
                                          struct MHD_Connection *connection, const char *method,
                                          const char *path)
{
    struct arena arena = ARENA_INIT;
    struct http_exchange *exchange = ARENA_NEW(&arena, struct http_exchange);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

    exchange->server = engine->server;
    exchange->engine = engine;
    exchange->connection = connection;
    exchange->body = (struct buf)BUF_INIT(engine->server->options.body_max);
    exchange->request.method = arena_strdup(&arena, method);
    exchange->request.path = arena_strdup(&arena, path);
    exchange->request.name = "";
    exchange->request.remote = address_host(&arena, info ? info->client_addr : NULL);
    exchange->arena = arena;
    exchange->next = engine->server->exchanges;
    exchange->back = &engine->server->exchanges;
    if (exchange->next)
        exchange->next->back = &exchange->next;
    *exchange->back = exchange;
    return exchange;
}

/* Called once it is answered and the library is done with it. */
void http_exchange_drop(struct http_exchange *exchange)
{
    struct arena arena = exchange->arena;

    buf_done(&exchange->body);
    arena_done(&arena); /* the exchange is in it */
}

static void unlink_exchange(struct http_exchange *exchange)
{
    *exchange->back = exchange->next;
    if (exchange->next)
        exchange->next->back = exchange->back;
    exchange->server = NULL;
    exchange->connection = NULL;
}

void http_on_completed(void *self, struct MHD_Connection *connection, void **slot,
                       enum MHD_RequestTerminationCode reason)
{
    const struct http_engine *engine = self;
    struct http_exchange *exchange = *slot;

    (void)reason;
    *slot = NULL;
    http_line_expect(connection, engine->server->options.idle_timeout);
    if (!exchange)
        return;
    unlink_exchange(exchange);
    if (exchange->is_answered || !exchange->is_whole)
        http_exchange_drop(exchange);
}

void http_exchanges_abandon(struct http_server *server)
{
    for (struct http_exchange *exchange = server->exchanges; exchange; exchange = exchange->next)
        if (exchange->is_suspended) {
            exchange->is_suspended = false;
            MHD_resume_connection(exchange->connection);
        }
}

/* --- answers ------------------------------------------------------------------------ */

static enum MHD_Result queue_response(struct http_exchange *exchange)
{
    enum MHD_Result result =
        MHD_queue_response(exchange->connection, exchange->status, exchange->response);

    MHD_destroy_response(exchange->response); /* the connection holds it */
    exchange->response = NULL;
    return result;
}

void http_exchange_finish(struct http_exchange *exchange, unsigned status,
                          struct MHD_Response *response)
{
    struct http_server *server = exchange->server;

    exchange->is_answered = true;
    exchange->status = status;
    exchange->response = response;
    if (server->options.answered)
        server->options.answered(server->options.self, &exchange->request, (int)status);
    if (exchange->is_in_handler)
        return;
    (void)queue_response(exchange);
    if (exchange->is_suspended) {
        exchange->is_suspended = false;
        MHD_resume_connection(exchange->connection);
        http_engine_wake(exchange->engine);
    }
}

void http_answer(struct http_request *request, const struct http_answer *answer)
{
    struct http_exchange *exchange = container_of(request, struct http_exchange, request);
    struct MHD_Response *response;

    if (!exchange->server) {
        http_exchange_drop(exchange); /* the client, or the server, is gone */
        return;
    }
    response = MHD_create_response_from_buffer(answer->body.n, (void *)(uintptr_t)answer->body.p,
                                               MHD_RESPMEM_MUST_COPY);
    http_add_headers(exchange, response, answer->type ? answer->type : TYPE_JSON, answer->cache);
    if (answer->retry_after > 0)
        (void)MHD_add_response_header(
            response, MHD_HTTP_HEADER_RETRY_AFTER,
            arena_printf(&exchange->arena, "%lld", (long long)answer->retry_after));
    http_line_expect(exchange->connection, exchange->server->options.request_timeout);
    http_exchange_finish(exchange, (unsigned)answer->status, response);
}

void http_answer_value(struct http_request *request, int status, const struct value *body)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    if (json_print(&text, body, JSON_STYLE_COMPACT, &err) < 0) {
        http_answer_error(request, STATUS_BROKEN, err.text);
        return;
    }
    buf_add_char(&text, '\n');
    http_answer(request, &(struct http_answer){ .status = status, .body = buf_view(&text) });
}

void http_answer_error(struct http_request *request, int status, const char *text)
{
    AUTO_BUF struct buf body = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&body, "{\"error\":");
    json_print_text(&body, str_from(text), JSON_STYLE_COMPACT);
    buf_add_text(&body, "}\n");
    http_answer(request, &(struct http_answer){ .status = status, .body = buf_view(&body) });
}

const char *http_query(struct http_request *request, const char *key)
{
    const struct http_exchange *exchange = container_of(request, struct http_exchange, request);

    return exchange->connection
               ? MHD_lookup_connection_value(exchange->connection, MHD_GET_ARGUMENT_KIND, key)
               : NULL;
}

struct query_walk {
    http_query_fn *fn;
    void *self;
};

static enum MHD_Result walk_query(void *self, enum MHD_ValueKind kind, const char *key,
                                  const char *value)
{
    const struct query_walk *walk = self;

    (void)kind;
    walk->fn(walk->self, key, value ? value : "");
    return MHD_YES;
}

void http_query_each(struct http_request *request, http_query_fn *fn, void *self)
{
    const struct http_exchange *exchange = container_of(request, struct http_exchange, request);
    struct query_walk walk = { fn, self };

    if (exchange->connection)
        (void)MHD_get_connection_values(exchange->connection, MHD_GET_ARGUMENT_KIND, walk_query,
                                        &walk);
}

const char *http_header(struct http_request *request, const char *key)
{
    const struct http_exchange *exchange = container_of(request, struct http_exchange, request);

    return exchange->connection
               ? MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, key)
               : NULL;
}

void http_set_header(struct http_request *request, const char *name, const char *value)
{
    struct http_exchange *exchange = container_of(request, struct http_exchange, request);
    struct http_header_line *line = ARENA_NEW(&exchange->arena, struct http_header_line);

    *line = (struct http_header_line){ .name = arena_strdup(&exchange->arena, name),
                                       .value = arena_strdup(&exchange->arena, value),
                                       .next = exchange->headers };
    exchange->headers = line;
}

/* --- routes ------------------------------------------------------------------------- */

/* Returns the status: 200 when the exchange has its route. */
static int find_exchange_route(struct http_exchange *exchange)
{
    int status = STATUS_NOT_FOUND;
    struct str name;

    for (const struct http_route *route = exchange->server->options.routes; route->path; route++) {
        if (!http_route_matches_path(route->path, exchange->request.path, &name))
            continue;
        status = STATUS_METHOD;
        if (!http_route_matches_method(route->method, exchange->request.method))
            continue;
        exchange->route = route;
        exchange->request.name = arena_strndup(&exchange->arena, name.p, name.n);
        return MHD_HTTP_OK;
    }
    return status;
}

static void call_route(struct http_exchange *exchange)
{
    const struct http_options *options = &exchange->server->options;
    int status = find_exchange_route(exchange);

    if (status == STATUS_NOT_FOUND && options->other)
        options->other(options->other_self, &exchange->request);
    else if (exchange->body.full)
        http_answer_error(&exchange->request, STATUS_TOO_LARGE, "request body is too large");
    else if (status == STATUS_METHOD)
        http_answer_error(&exchange->request, status, "method not allowed");
    else if (status == STATUS_NOT_FOUND)
        http_answer_error(&exchange->request, status, "not found");
    else
        exchange->route->fn(options->self, &exchange->request);
}

/* The whole request is there. */
static enum MHD_Result handle_exchange(struct http_exchange *exchange)
{
    exchange->is_whole = true;
    exchange->request.body = buf_view(&exchange->body);
    exchange->request.is_cut = exchange->body.full;
    http_line_expect(exchange->connection, 0);
    exchange->is_in_handler = true;
    call_route(exchange);
    exchange->is_in_handler = false;
    if (exchange->response)
        return queue_response(exchange);
    exchange->is_suspended = true;
    MHD_suspend_connection(exchange->connection);
    return MHD_YES;
}

enum MHD_Result http_on_request(void *self, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *size, void **slot)
{
    struct http_exchange *exchange = *slot;

    (void)version;
    if (!exchange) {
        *slot = new_exchange(self, connection, method, url);
        return MHD_YES;
    }
    if (*size > 0) { /* bytes beyond the limit are dropped, and the request is refused at the end */
        buf_add(&exchange->body, data, *size);
        *size = 0;
        return MHD_YES;
    }
    /* After a resume the library presents an answered request once more. */
    return exchange->is_whole ? MHD_YES : handle_exchange(exchange);
}
