#include "fleet/master/enroll/enroll_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/rate.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "core/http/server.h"
#include "fleet/master/announce.h"
#include "fleet/master/api/api.h"
#include "fleet/master/audit.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/enroll/enrollment_cache.h"
#include "fleet/master/enroll/token_cache.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

#define PATH          "/api/v1/enroll"
#define DOCUMENT_KEPT "max-age=60"
#define UNAVAILABLE   503

struct enroll_server;

/* A machine that awaits a decision. */
struct waiter {
    struct enroll_server *server;
    struct http_stream *stream;
    char *id;
    enum enrollment_state reported;
    struct timer beat;
    int64_t until;
    struct waiter *next, **back;
};

struct enroll_server {
    struct master *master;
    struct authority *authority;
    struct api *api; /* serves all other paths */
    struct http_server *http;
    struct rate rate, relaxed;
    struct enrollment_cache_listener listener;
    struct token_cache *tokens;
    struct waiter *waiters;
    size_t waiter_count;
    bool is_open; /* connected to the bus */
};

/* A call in progress. */
struct enroll_call {
    struct enroll_server *server;
    struct http_request *request;
    char *id;      /* for creds and streams */
    char *sponsor; /* "token:<id>": approves the new enrollment; or NULL */
};

static struct enroll_call *new_enroll_call(struct enroll_server *server,
                                           struct http_request *request, const char *id)
{
    struct enroll_call *call = mem_zalloc(sizeof(*call));

    call->server = server;
    call->request = request;
    call->id = mem_strdup(id);
    return call;
}

static void free_enroll_call(struct enroll_call *call)
{
    free(call->id);
    free(call->sponsor);
    free(call);
}

/* --- limits ------------------------------------------------------------------------- */

static struct str get_bearer_token(struct http_request *request)
{
    const char *text = http_header(request, TOKEN_HEADER);

    return str_from(text ? text : "");
}

/* Valid tokens are exempt from limits. False: the request is answered. */
static bool admit_enroll_request(struct enroll_server *server, struct rate *rate,
                                 struct http_request *request)
{
    int64_t wait = token_cache_find(server->tokens, get_bearer_token(request), STR(""))
                       ? 0
                       : rate_take(rate, str_from(request->remote), clock_now());

    if (wait > 0) {
        int64_t seconds = wait == INT64_MAX ? 3600 : wait / CLOCK_SECOND + 1;

        http_answer(request,
                    &(struct http_answer){ .status = ADMISSION_LIMITED,
                                           .body = STR("{\"error\":\"too many requests\"}\n"),
                                           .retry_after = seconds });
        return false;
    }
    if (!server->is_open) {
        http_answer_error(request, UNAVAILABLE, "the bus is not connected yet");
        return false;
    }
    return true;
}

/* --- answers ------------------------------------------------------------------------ */

static void announce_pending(struct enroll_server *server, const struct enrollment *record)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value_map *map = value_map_new(&arena, 3);
    const struct value data = value_map(map);
    struct err err;

    value_map_set(&arena, map, value_text("id"), value_text(record->id));
    value_map_set(&arena, map, value_text("peel_id"), value_text(record->peel_id));
    if (record->remote_addr[0])
        value_map_set(&arena, map, value_text("ip"), value_text(record->remote_addr));
    if (announce_event(
            server->master,
            &(struct announcement){ .tag = arena_printf(&arena, "enroll/pending/%s", record->id),
                                    .data = data },
            &err) < 0)
        log_warning("event of a new enrollment was not sent id=%s error=%s", record->id, err.text);
}

/* Approved by its token; or still pending, when the machine trusts another CA. */
static void on_sponsored(void *self, const struct registry_verdict *verdict)
{
    const struct enrollment *record = verdict->record;
    struct enroll_call *call = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value_map *map = value_map_new(&arena, 4);
    const struct value body = value_map(map);

    audit_log(&(struct audit){ .action = "enroll.approve",
                               .by = call->sponsor,
                               .id = call->id,
                               .peel = record ? record->peel_id : NULL,
                               .error = verdict->error });
    value_map_set(&arena, map, value_text("id"), value_text(call->id));
    if (record)
        value_map_set(&arena, map, value_text("peel_id"), value_text(record->peel_id));
    value_map_set(&arena, map, value_text("state"),
                  value_text(enrollment_state_name(record ? record->state : ENROLLMENT_PENDING)));
    value_map_set(&arena, map, value_text("message"),
                  value_text(record ? "approved by the join token" : verdict->error));
    http_answer_value(call->request, ADMISSION_CREATED, &body);
    free_enroll_call(call);
}

static void approve_sponsored(struct enroll_call *call, const char *id)
{
    const struct enrollment_request request = { .id = id,
                                                .operator_name = call->sponsor,
                                                .reason = "" };

    free(call->id);
    call->id = mem_strdup(id);
    registry_decide(&call->server->authority->registry, ADMISSION_APPROVE, &request, on_sponsored,
                    call);
}

static bool is_pending(const struct admission_answer *answer)
{
    const char *state = value_get_text(&answer->body, "state");

    return state && strcmp(state, enrollment_state_name(ENROLLMENT_PENDING)) == 0 &&
           value_get_text(&answer->body, "id");
}

static void on_admission_answer(void *self, const struct admission_answer *answer)
{
    struct enroll_call *call = self;

    if (answer->replaced)
        audit_log(&(struct audit){ .action = "enroll.reject",
                                   .by = answer->replaced->decided_by,
                                   .id = answer->replaced->id,
                                   .peel = answer->replaced->peel_id,
                                   .reason = answer->replaced->reject_reason });
    if (answer->created) {
        bool is_new = answer->created->state == ENROLLMENT_PENDING;

        audit_log(&(struct audit){ .action = is_new ? "enroll.request" : "enroll.renew",
                                   .by = answer->created->remote_addr,
                                   .id = answer->created->id,
                                   .peel = answer->created->peel_id });
        metrics_add(call->server->master->metrics, MASTER_ENROLLMENTS, 1,
                    enrollment_state_name(answer->created->state), NULL);
        if (is_new && !call->sponsor)
            announce_pending(call->server, answer->created);
    }
    if (call->sponsor && is_pending(answer)) {
        approve_sponsored(call, value_get_text(&answer->body, "id"));
        return;
    }
    http_answer_value(call->request, (int)answer->status, &answer->body);
    free_enroll_call(call);
}

static void on_nonce(void *self, struct http_request *request)
{
    struct enroll_server *server = self;
    const char *peel = http_query(request, "peel_id"), *key = http_query(request, "public_key");

    if (admit_enroll_request(server, &server->rate, request))
        registry_nonce(&server->authority->registry, str_from(peel ? peel : ""),
                       str_from(key ? key : ""), on_admission_answer,
                       new_enroll_call(server, request, ""));
}

/* Reads the token of a body, and its peel; empty when there are none. */
static void read_token(struct arena *arena, struct http_request *request, struct str *ret_token,
                       struct str *ret_peel)
{
    struct value body;
    struct err err;

    *ret_token = get_bearer_token(request);
    *ret_peel = STR("");
    if (request->body.n > ADMISSION_BODY_MAX || json_decode(arena, request->body, &body, &err) < 0)
        return;
    if (ret_token->n == 0)
        *ret_token = value_get_view(&body, TOKEN_FIELD);
    *ret_peel = value_get_view(&body, "peel_id");
}

/* The token that approves this machine; NULL: none. Freed by the caller. */
static char *find_sponsor(struct enroll_server *server, struct http_request *request)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct token_record *record;
    struct str token, peel;

    read_token(&arena, request, &token, &peel);
    record = peel.n > 0 ? token_cache_find(server->tokens, token, peel) : NULL;
    return record ? mem_strdup(arena_printf(&arena, "token:%s", record->id)) : NULL;
}

static bool admit_body(struct enroll_server *server, struct http_request *request)
{
    AUTO_FREE char *sponsor = find_sponsor(server, request);

    return (sponsor && server->is_open) || admit_enroll_request(server, &server->rate, request);
}

/* Why no more machines of this address may be pending; NULL: they may. This keeps an attacker from
 * flooding the store, and the operators' list. */
static const char *find_crowd(const struct enroll_server *server, const char *address)
{
    const struct master_conf *conf = &server->master->conf;
    const struct enrollment_cache_waiting count = enrollment_cache_count_waiting(
        master_find(server->master, &enrollment_cache_service), address);

    if (conf->enroll_pending_per_address > 0 &&
        count.of_address >= (size_t)conf->enroll_pending_per_address)
        return "too many pending machines from this address (enroll.pending_per_address): use a "
               "join token, or decide on them";
    if (conf->enroll_pending_max > 0 && count.all >= (size_t)conf->enroll_pending_max)
        return "too many pending machines (enroll.pending_max): use a join token, or decide on "
               "them";
    return NULL;
}

/* The tokens have been read. */
static void submit_enroll_call(void *self)
{
    struct enroll_call *call = self;
    struct enroll_server *server = call->server;

    call->sponsor = find_sponsor(server, call->request);
    registry_submit(&server->authority->registry, call->request->body,
                    &(struct registry_sender){ .remote_addr = call->request->remote,
                                               .sponsor = call->sponsor ? call->sponsor : "",
                                               .crowd = find_crowd(server, call->request->remote) },
                    on_admission_answer, call);
}

static void on_enroll(void *self, struct http_request *request)
{
    struct enroll_server *server = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str token, peel;
    struct enroll_call *call;
    struct err err;

    if (!admit_body(server, request))
        return;
    call = new_enroll_call(server, request, "");
    read_token(&arena, request, &token, &peel);
    if (token.n == 0 || token_cache_find(server->tokens, token, STR("")) ||
        token_cache_fetch(server->tokens, token, submit_enroll_call, call, &err) < 0)
        submit_enroll_call(call);
}

static void on_status_request(void *self, struct http_request *request)
{
    struct enroll_server *server = self;

    if (admit_enroll_request(server, &server->rate, request))
        registry_status(&server->authority->registry, request->name, on_admission_answer,
                        new_enroll_call(server, request, request->name));
}

static void on_creds_answer(void *self, const struct admission_answer *answer)
{
    struct enroll_call *call = self;

    if (answer->status == ADMISSION_OK) {
        audit_log(&(struct audit){ .action = "enroll.issue",
                                   .by = call->request->remote,
                                   .id = call->id,
                                   .peel = value_get_text(&answer->body, "peel_id") });
        metrics_add(call->server->master->metrics, MASTER_ENROLLMENTS, 1, "issued", NULL);
    }
    on_admission_answer(call, answer);
}

static void on_creds_request(void *self, struct http_request *request)
{
    struct enroll_server *server = self;
    const char *authorization = http_header(request, "Authorization");

    if (!admit_enroll_request(server, &server->rate, request))
        return;
    authority_look_at_keys(server->authority); /* a retired key is useless */
    registry_creds(&server->authority->registry, request->name,
                   str_from(authorization ? authorization : ""), on_creds_answer,
                   new_enroll_call(server, request, request->name));
}

static void on_document_request(void *self, struct http_request *request)
{
    struct enroll_server *server = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct value document;
    struct err err;

    if (!admit_enroll_request(server, &server->relaxed, request))
        return;
    document = authority_document(server->authority, &arena);
    if (json_print(&text, &document, JSON_STYLE_COMPACT, &err) < 0) {
        http_answer_error(request, ADMISSION_BROKEN, err.text);
        return;
    }
    http_answer(request, &(struct http_answer){ .status = ADMISSION_OK,
                                                .body = buf_view(&text),
                                                .cache = DOCUMENT_KEPT });
}

/* --- waiting ------------------------------------------------------------------------ */

static void free_waiter(struct waiter *waiter)
{
    *waiter->back = waiter->next;
    if (waiter->next)
        waiter->next->back = waiter->back;
    waiter->server->waiter_count--;
    timer_clear(loop_timers(waiter->server->master->loop), &waiter->beat);
    free(waiter->id);
    free(waiter);
}

static void on_waiter_closed(void *self)
{
    free_waiter(self);
}

static void end_waiter(struct waiter *waiter)
{
    http_stream_end(waiter->stream);
    free_waiter(waiter);
}

static void send_waiter_state(struct waiter *waiter, enum enrollment_state state)
{
    AUTO_BUF struct buf data = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&data, "{\"id\":");
    json_print_text(&data, str_from(waiter->id), JSON_STYLE_COMPACT);
    buf_printf(&data, ",\"state\":\"%s\"}", enrollment_state_name(state));
    http_stream_send(waiter->stream, "state", buf_text(&data));
    if (state != ENROLLMENT_PENDING)
        end_waiter(waiter);
}

static void notify_enroll_waiters(struct enroll_server *server, const char *id,
                                  enum enrollment_state state)
{
    struct waiter *waiter = server->waiters;

    while (waiter && state != ENROLLMENT_PENDING) {
        struct waiter *next = waiter->next;

        if (strcmp(waiter->id, id) == 0)
            send_waiter_state(waiter, state);
        waiter = next;
    }
}

/* State changes from before the waiter was registered. */
static void on_state_again(void *self, const struct admission_answer *answer)
{
    struct enroll_call *call = self;
    const char *word = value_get_text(&answer->body, "state");
    enum enrollment_state state;

    if (word && enrollment_state_find(str_from(word), &state))
        notify_enroll_waiters(call->server, call->id, state);
    free_enroll_call(call);
}

static void on_waiter_beat(struct timer *timer);

static void arm_waiter_beat(struct waiter *waiter)
{
    timer_set(loop_timers(waiter->server->master->loop), &waiter->beat,
              clock_after(clock_now(), ENROLL_STREAM_BEAT_NS), on_waiter_beat);
}

static void on_waiter_beat(struct timer *timer)
{
    struct waiter *waiter = container_of(timer, struct waiter, beat);

    if (clock_now() >= waiter->until) {
        http_stream_send(waiter->stream, "timeout", "{}");
        end_waiter(waiter);
        return;
    }
    http_stream_beat(waiter->stream);
    arm_waiter_beat(waiter);
}

static struct waiter *new_waiter(struct enroll_server *server, struct http_request *request,
                                 const char *id)
{
    struct waiter *waiter = mem_zalloc(sizeof(*waiter));

    waiter->server = server;
    waiter->id = mem_strdup(id);
    waiter->until = clock_after(clock_now(), ENROLL_STREAM_TIMEOUT_NS);
    waiter->next = server->waiters;
    waiter->back = &server->waiters;
    if (waiter->next)
        waiter->next->back = &waiter->next;
    *waiter->back = waiter;
    server->waiter_count++;
    waiter->stream = http_stream_new(request, on_waiter_closed, waiter);
    return waiter;
}

static void on_stream_status(void *self, const struct admission_answer *answer)
{
    struct enroll_call *call = self;
    struct enroll_server *server = call->server;
    const char *word = value_get_text(&answer->body, "state");
    enum enrollment_state state;
    struct waiter *waiter;

    if (answer->status != ADMISSION_OK || !word || !enrollment_state_find(str_from(word), &state)) {
        on_admission_answer(call, answer);
        return;
    }
    waiter = new_waiter(server, call->request, call->id);
    free_enroll_call(call);
    if (!waiter->stream) {
        free_waiter(waiter);
        return;
    }
    arm_waiter_beat(waiter);
    if (state == ENROLLMENT_PENDING) /* it may have changed since it was read */
        registry_status(&server->authority->registry, waiter->id, on_state_again,
                        new_enroll_call(server, NULL, waiter->id));
    send_waiter_state(waiter, state);
}

static void on_stream_request(void *self, struct http_request *request)
{
    struct enroll_server *server = self;

    if (!admit_enroll_request(server, &server->rate, request))
        return;
    if (server->waiter_count >= ENROLL_STREAMS_MAX)
        http_answer_error(request, UNAVAILABLE, "too many machines are waiting");
    else
        registry_status(&server->authority->registry, request->name, on_stream_status,
                        new_enroll_call(server, request, request->name));
}

static void on_waited_enrollment(struct enrollment_cache_listener *listener,
                                 const struct enrollment *record)
{
    notify_enroll_waiters(container_of(listener, struct enroll_server, listener), record->id,
                          record->state);
}

/* --- the service -------------------------------------------------------------------- */

static const struct http_route routes[] = {
    { "GET", PATH "/nonce", on_nonce },
    { "GET", PATH "/ca", on_document_request },
    { "POST", PATH, on_enroll },
    { "GET", PATH "/{id}/status", on_status_request },
    { "GET", PATH "/{id}/stream", on_stream_request },
    { "GET", PATH "/{id}/creds", on_creds_request },
    { 0 },
};

static void on_enroll_answered(void *self, const struct http_request *request, int status)
{
    const struct enroll_server *server = self;
    char word[16];

    (void)snprintf(word, sizeof(word), "%d", status);
    metrics_add(server->master->metrics, MASTER_HTTP_REQUESTS, 1, word, NULL);
    log_debug("request answered method=%s path=%s status=%d from=%s", request->method,
              request->path, status, request->remote);
}

static void on_renewed(void *self)
{
    struct enroll_server *server = self;
    const struct leaf *leaf = &server->authority->leaf;
    struct err err;

    if (http_server_set_certificate(server->http, leaf->chain.p, leaf->key.p, &err) < 0)
        log_error("certificate cannot be used, keeping the old one error=%s", err.text);
    else
        log_info("certificate of the HTTPS endpoint renewed");
}

static void set_rates(struct enroll_server *server)
{
    const struct master_conf *conf = &server->master->conf;

    rate_init(&server->rate, conf->enroll_rate_burst, conf->enroll_rate_per_minute);
}

static void reload_enroll_server(void *self)
{
    struct enroll_server *server = self;

    rate_done(&server->rate);
    set_rates(server);
}

static void free_enroll_server(void *self)
{
    struct enroll_server *server = self;

    http_server_free(server->http);
    token_cache_free(server->tokens);
    rate_done(&server->rate);
    rate_done(&server->relaxed);
    free(server);
}

static int listen_https(struct enroll_server *server, struct err *err)
{
    const struct leaf *leaf = &server->authority->leaf;

    server->http =
        http_server_new(&(struct http_options){ .loop = server->master->loop,
                                                .address = server->master->conf.enroll_addr,
                                                .routes = routes,
                                                .self = server,
                                                .other = api_handle,
                                                .other_self = server->api,
                                                .answered = on_enroll_answered,
                                                .cert_pem = leaf->chain.p,
                                                .key_pem = leaf->key.p,
                                                .connections_max = ENROLL_CONNECTIONS_MAX },
                        err);
    return server->http ? 0 : -1;
}

static void *open_enroll_server(struct master *master, struct err *err)
{
    struct enroll_server *server = mem_zalloc(sizeof(*server));

    server->master = master;
    server->authority = master_find(master, &authority_service);
    server->api = master_find(master, &api_service);
    set_rates(server);
    rate_init(&server->relaxed, ENROLL_RELAXED_BURST, ENROLL_RELAXED_PER_MINUTE);
    if (listen_https(server, err) < 0) {
        free_enroll_server(server);
        return NULL;
    }
    server->authority->renewed = on_renewed;
    server->authority->renewed_self = server;
    server->listener.changed = on_waited_enrollment;
    enrollment_cache_listen(master_find(master, &enrollment_cache_service), &server->listener);
    return server;
}

static int start_enroll_server(void *self, struct err *err)
{
    struct enroll_server *server = self;

    server->tokens = token_cache_new(&server->master->js, err);
    if (!server->tokens)
        return -1;
    server->is_open = true;
    log_info("machines can enroll address=%s port=%u", server->master->conf.enroll_addr,
             http_server_port(server->http));
    return 0;
}

/* Answers of pending calls are dropped when the connection closes. */
static void stop_enroll_server(void *self)
{
    struct enroll_server *server = self;

    server->is_open = false;
    token_cache_stop(server->tokens);
    http_server_free(server->http);
    server->http = NULL;
}

const struct master_service enroll_server_service = {
    .name = "enroll-server",
    .open = open_enroll_server,
    .start = start_enroll_server,
    .stop = stop_enroll_server,
    .free = free_enroll_server,
    .reload = reload_enroll_server,
};
