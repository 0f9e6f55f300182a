/*
 * api_call - one request of the API, from its authentication to its answer.
 *
 * A handler gets an authorized call, with query and body parsed into the structs of its route. It
 * answers once, now or later; the answer frees the call. When the client disconnects, the work goes
 * on and its answer is dropped.
 *
 *     static void show_thing(struct api_call *call)
 *     {
 *         const struct thing_query *query = call->query;
 *
 *         if (!find(call->name))
 *             api_fail(call, 404, "no such thing: '%s'", call->name);
 *         else
 *             api_answer(call, 200, &thing);
 *     }
 *
 * Every answer has the header X-Request-ID and is a line in the log, "http.request.complete".
 *
 * Memory: the arena of the call. Threads: the loop's.
 */
#ifndef FLEET_MASTER_API_CALL_H
#define FLEET_MASTER_API_CALL_H

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/mem.h"
#include "core/data/value.h"
#include "core/http/server.h"
#include "fleet/master/api/access.h"
#include "fleet/master/api/route.h"
#include "fleet/master/api/token.h"
#include "fleet/master/master.h"
#include "fleet/nats/error.h"

struct api;
struct job;

/* Concurrent calls: each holds an answer in memory. */
#define API_CALLS_MAX 256

#define API_HEADER_REQUEST "X-Request-ID"
#define API_HEADER_JOB     "X-Job-ID"
/* Counts all matches, not only this page. */
#define API_HEADER_TOTAL "X-Total-Count"

struct api_call {
    struct arena arena; /* the call is in it */
    struct api *api;
    struct master *master;
    struct http_request *request;
    const struct api_route *route;
    const char *name; /* the name in the path */
    const char *id;   /* the request id */
    struct api_asker asker;
    struct api_digest digest; /* digest of the token */
    const void *query, *body; /* structs of the route */
    int64_t began;
    void *work; /* the handler's own, in the arena */
};

/* --- answers: each frees the call ----------------------------------------------------- */

void api_answer(struct api_call *call, enum api_status status, const struct value *body);
/* A list: one page of `total` items. */
void api_answer_page(struct api_call *call, const struct value *list, size_t total);
void api_answer_text(struct api_call *call, const char *type, struct str text, const char *policy);
/* {"error": ...} */
void api_fail(struct api_call *call, enum api_status status, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* 503: the client may try again. */
void api_fail_later(struct api_call *call, const char *text);
/* The bus returned an error. */
void api_fail_bus(struct api_call *call, const struct nats_error *error);
/* 403, and an audit line; `job` is the job concerned, or NULL. */
void api_refuse(struct api_call *call, const struct err *why, const struct job *job);
/* {"error": one line, "errors": all} */
void api_fail_mistakes(struct api_call *call, enum api_status status, const struct diags *diags);

/* Answers with a stream; NULL when the client is gone. */
struct http_stream *api_answer_stream(struct api_call *call, http_closed_fn *closed, void *self);

/* Set a response header. */
void api_set_header(struct api_call *call, const char *name, const char *value);
/* X-Job-ID. */
void api_set_job(struct api_call *call, const char *jid);

/* --- shared by handlers --------------------------------------------------------------- */

/* Every list takes these two. */
struct api_page {
    int64_t limit, offset;
};

/* clang-format off */
#define API_PAGE(type, field, most, usual)                                                                                       \
    PARAM("limit",  INT, type, field.limit, "this many at most", PARAM_RANGE(1, most), .default_text = usual, .kind_text = "N"), \
    PARAM("offset", INT, type, field.offset, "skip this many", PARAM_RANGE(0, 1000000), .default_text = "0", .kind_text = "N")
/* clang-format on */

/* Items [offset, offset + limit) of `count`. */
void api_page_range(const struct api_page *page, size_t count, size_t *ret_from, size_t *ret_to);
/* For items that arrive one by one: counts this one in `seen`; returns whether it is on the
 * page. */
bool api_page_takes(const struct api_page *page, size_t *seen);

/* Sorts texts bytewise. */
void api_sort(const char **texts, size_t count);

/* The peels that match an expression, sorted. A bad expression, and a master that is not ready, are
 * answered here. */
typedef void api_resolved_fn(struct api_call *call, const struct param_strs *peels);
void api_resolve(struct api_call *call, const char *expr, api_resolved_fn *fn);
/* The same for the target that limits the caller. */
void api_resolve_inside(struct api_call *call, api_resolved_fn *fn);
/* api_may() for the act of the call, now. */
enum policy_verdict api_judge(const struct api_call *call, const struct api_subject *subject,
                              struct err *why);

/* --- for api.c -------------------------------------------------------------------------- */

/* A client may choose the id of its request; one that could corrupt a log is replaced. */
bool api_request_id_is_sane(const char *text);

#endif
