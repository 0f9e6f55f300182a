#include "fleet/master/api/api.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/ksuid.h"
#include "core/base/log.h"
#include "fleet/bus/bus_time.h"
#include "core/http/server.h"
#include "fleet/master/api/asker.h"
#include "fleet/master/api/call.h"
#include "fleet/master/api/route.h"
#include "fleet/nats/publisher.h"
#include "core/sys/clock.h"

/* Time limit for storing an event. */
#define EVENT_GIVE_UP_NS (10 * CLOCK_SECOND)

/* --- authentication ----------------------------------------------------------------- */

static void refuse_address(struct api_call *call, int64_t wait)
{
    const int64_t seconds = wait == INT64_MAX ? 3600 : wait / CLOCK_SECOND + 1;

    api_set_header(call, "Retry-After", arena_printf(&call->arena, "%lld", (long long)seconds));
    api_fail(call, API_LIMITED, "too many requests with a wrong token");
}

static void refuse_token(struct api_call *call, const char *reason)
{
    api_set_header(call, "WWW-Authenticate", "Bearer realm=\"zester\"");
    api_fail(call, API_UNAUTHORIZED, "%s", reason);
}

/* NULL: already answered. A wrong guess costs a token of the address; without one nothing is
 * compared. */
static const struct api_token *find_call_token(struct api_call *call)
{
    const struct str remote = str_from(call->request->remote);
    const int64_t wait = rate_wait(&call->api->failures, remote, call->began);
    const struct api_token *token = NULL;
    struct str secret;

    if (wait > 0) {
        refuse_address(call, wait);
        return NULL;
    }
    if (api_token_bearer(http_header(call->request, "Authorization"), &secret)) {
        call->digest = api_token_digest(secret);
        token = asker_find_token(call->api, &call->digest);
    }
    if (!token) {
        (void)rate_take(&call->api->failures, remote, call->began);
        refuse_token(call, "missing or wrong token: send 'Authorization: Bearer TOKEN'");
    }
    return token;
}

/* --- parameters --------------------------------------------------------------------- */

static bool find_call_route(struct api_call *call)
{
    const struct api_match match =
        api_route_find(api_routes, &call->arena, call->request->method, call->request->path);

    call->route = match.route;
    call->name = match.name;
    if (call->route && (!call->route->is_open || call->master->conf.api_docs_enabled))
        return true;
    if (match.allowed) {
        api_set_header(call, "Allow", match.allowed);
        api_fail(call, match.status, "method not allowed: use %s", match.allowed);
    } else {
        api_fail(call, API_NOT_FOUND, "not found");
    }
    return false;
}

struct query {
    struct arena *arena;
    struct value map;
};

static void add_query_param(void *self, const char *key, const char *value)
{
    struct query *query = self;

    value_map_set(query->arena, query->map.map, value_text(arena_strdup(query->arena, key)),
                  value_text(arena_strdup(query->arena, value)));
}

/* All mistakes of both at once. */
static bool read_call_params(struct api_call *call)
{
    struct query query = { &call->arena, value_map(value_map_new(&call->arena, 4)) };
    struct diags diags = DIAGS_INIT(&call->arena);

    if (call->request->is_cut) {
        api_fail(call, API_TOO_LARGE, "the body is larger than %zu bytes", HTTP_BODY_MAX);
        return false;
    }
    http_query_each(call->request, add_query_param, &query);
    (void)api_route_read_query(call->route, &call->arena, &query.map, &call->query, &diags);
    (void)api_route_read_body(call->route, &call->arena, call->request->body, &call->body, &diags);
    if (diags_count(&diags) == 0)
        return true;
    api_fail_mistakes(call, API_BAD, &diags);
    return false;
}

static bool has_free_call(struct api_call *call)
{
    if (!call->api->events)
        api_fail_later(call, "the bus is not connected yet");
    else if (call->api->calls > API_CALLS_MAX)
        api_fail_later(call, "too many concurrent requests");
    else
        return true;
    return false;
}

/* Authorized, as far as known by now. */
static void handle_call(struct api_call *call)
{
    if (read_call_params(call) && (call->route->is_open || has_free_call(call)))
        call->route->fn(call);
}

static void on_call_asker(void *self, enum asker_outcome outcome, const struct api_asker *asker,
                          const char *problem)
{
    struct api_call *call = self;
    struct err why;

    if (outcome == ASKER_LATER) {
        api_fail_later(call, problem);
    } else if (outcome == ASKER_UNKNOWN) {
        refuse_token(call, problem);
    } else {
        call->asker = *asker;
        if (api_may_begin(asker, call->route->act, bus_time_seconds(), &why) < 0)
            api_refuse(call, &why, NULL);
        else
            handle_call(call);
    }
}

static void authorize_call(struct api_call *call)
{
    const struct api_token *token = find_call_token(call);

    if (!token)
        return;
    call->asker.user = token->operator_name ? arena_strdup(&call->arena, token->operator_name)
                                            : arena_strdup(&call->arena, token->policy.name);
    call->asker.token = arena_strdup(&call->arena, token->username);
    if (!token->operator_name || has_free_call(call))
        asker_find(call->api, &call->arena, token, on_call_asker, call);
}

static struct api_call *new_api_call(struct api *api, struct http_request *request)
{
    struct arena arena = ARENA_INIT;
    struct api_call *call = ARENA_NEW(&arena, struct api_call);
    const char *named = http_header(request, API_HEADER_REQUEST);
    char id[KSUID_SIZE];

    ksuid_new(bus_time_seconds(), id);
    call->api = api;
    call->master = api->master;
    call->request = request;
    call->began = clock_now();
    call->asker.user = call->asker.token = call->name = "";
    call->id = arena_strdup(&arena, named && api_request_id_is_sane(named) ? named : id);
    call->arena = arena;
    api->calls++;
    api_set_header(call, API_HEADER_REQUEST, call->id);
    return call;
}

void api_handle(void *self, struct http_request *request)
{
    struct api *api = self;
    struct api_call *call;

    if (api->master->conf.api_tokens.n == 0) {
        http_answer_error(request, API_NOT_FOUND, "not found");
        return;
    }
    call = new_api_call(api, request);
    if (!find_call_route(call))
        return;
    if (call->route->is_open)
        handle_call(call);
    else
        authorize_call(call);
}

/* --- the service -------------------------------------------------------------------- */

static void *open_api(struct master *master, struct err *err)
{
    struct api *api = mem_zalloc(sizeof(*api));

    (void)err;
    api->master = master;
    rate_init(&api->failures, API_FAILURES_BURST, API_FAILURES_PER_MINUTE);
    api_tokens_warn(&master->conf.api_tokens, master->conf.auth_dir);
    return api;
}

static void reload_api(void *self)
{
    const struct api *api = self;

    api_tokens_warn(&api->master->conf.api_tokens, api->master->conf.auth_dir);
}

static int start_api(void *self, struct err *err)
{
    struct api *api = self;

    if (asker_watch_start(api, err) < 0)
        return -1;
    api->events = nats_publisher_new(
        &api->master->js, &(struct nats_publisher_options){ .give_up = EVENT_GIVE_UP_NS });
    if (api->master->conf.api_tokens.n > 0)
        log_info("API is open tokens=%zu docs=%s", api->master->conf.api_tokens.n,
                 api->master->conf.api_docs_enabled ? "yes" : "no");
    return 0;
}

static void stop_api(void *self)
{
    struct api *api = self;

    asker_watch_stop(api);
    nats_publisher_free(api->events);
    api->events = NULL;
}

static void free_api(void *self)
{
    struct api *api = self;

    rate_done(&api->failures);
    vec_done(&api->streams);
    free(api);
}

const struct master_service api_service = {
    .name = "api",
    .open = open_api,
    .start = start_api,
    .stop = stop_api,
    .free = free_api,
    .reload = reload_api,
};
