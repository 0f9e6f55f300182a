/*
 * api_route - the table of API calls: path, parameters and handler. The manual and the OpenAPI
 * description are generated from it (manual.h).
 *
 * Pure, except for the handlers. Threads: any.
 */
#ifndef FLEET_MASTER_API_ROUTE_H
#define FLEET_MASTER_API_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"
#include "core/data/params.h"
#include "fleet/master/api/access.h"

struct api_call;
struct arena;
struct diags;
struct value;

#define API_ROOT "/api/v1"

/* HTTP status of answers. */
enum api_status {
    API_OK = 200,
    API_ACCEPTED = 202,
    API_BAD = 400, /* mistakes in the request */
    API_UNAUTHORIZED = 401,
    API_FORBIDDEN = 403,
    API_NOT_FOUND = 404,
    API_NOT_ALLOWED = 405, /* the method */
    API_CONFLICT = 409,    /* not in its current state */
    API_TOO_LARGE = 413,
    API_UNFIT = 422, /* valid, but not possible: no target, too large */
    API_LIMITED = 429,
    API_BROKEN = 500,
    API_UNAVAILABLE = 503,
};

typedef void api_handler_fn(struct api_call *call);
/* `values` is the struct, as far as it was read; `given` is the body. */
typedef void api_check_fn(struct arena *arena, const void *values, const struct value *given,
                          struct diags *diags);

struct api_route {
    const char *method, *path; /* NULL ends a table */
    api_handler_fn *fn;
    enum api_act act;
    bool is_open;              /* without a token */
    bool is_stream;            /* the answer is text/event-stream */
    enum api_status status;    /* on success */
    const struct param *query; /* NULL: none */
    size_t query_size;
    const struct param *body;
    size_t body_size;
    api_check_fn *check; /* checks the body beyond its types; NULL: none */
    const char *summary; /* one line */
    const char *details; /* the answer, and further notes */
};

extern const struct api_route api_routes[];

struct api_match {
    const struct api_route *route; /* NULL: not found */
    const char *name;              /* the name in the path; "" without one */
    enum api_status status;        /* why `route` is NULL */
    const char *allowed;           /* allowed methods, for API_NOT_ALLOWED; or NULL */
};
struct api_match api_route_find(const struct api_route *routes, struct arena *arena,
                                const char *method, const char *path);

/* Reads the body, a JSON object or nothing, into the struct of the route. Returns -1 when it added
 * to `diags`. */
int api_route_read_body(const struct api_route *route, struct arena *arena, struct str text,
                        const void **ret_body, struct diags *diags);
/* The same for a query: `map` has its texts. */
int api_route_read_query(const struct api_route *route, struct arena *arena,
                         const struct value *map, const void **ret_query, struct diags *diags);

#endif
