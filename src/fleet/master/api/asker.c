#include "fleet/master/api/asker.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "core/data/record.h"
#include "fleet/master/api/api.h"
#include "fleet/master/api/job_record.h"
#include "fleet/master/api/stream.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/kv.h"

#define POLICY_SUBJECTS "$KV.operators.*"

const struct api_token *asker_find_token(const struct api *api, const struct api_digest *digest)
{
    const struct master_conf *conf = &api->master->conf;

    return api_tokens_find(&conf->api_tokens, conf->auth_dir, digest);
}

static int64_t get_policy_time(void)
{
    return bus_time_seconds();
}

/* --- the policy of a token ------------------------------------------------------------ */

struct search {
    struct arena *arena;
    const char *name, *token; /* operator and token; copies, since the configuration may change */
    asker_fn *fn;
    void *self;
};

/* Reads the policy in the record. */
static int read_operator_policy(struct arena *arena, const char *name, struct str record,
                                struct api_asker *ret, struct err *why)
{
    struct operator_policy *policy = ARENA_NEW(arena, struct operator_policy);

    if (record_decode(arena, &operator_policy_type, 1, arena_str(arena, record), policy, why) < 0)
        return -1;
    if (strcmp(policy->name, name) != 0)
        return err_set(why, ERR_INVALID, "policy belongs to another operator");
    *ret = (struct api_asker){ .user = name, .token = "", .policy = policy, .is_named = true };
    return policy_check_person(policy, get_policy_time(), why);
}

static void on_operator_policy(void *self, const struct nats_error *error,
                               const struct nats_kv_entry *entry)
{
    const struct search *search = self;
    struct api_asker *asker = ARENA_NEW(search->arena, struct api_asker);
    struct err why;

    if (error && error->fault == NATS_FAULT_NOT_FOUND) {
        search->fn(search->self, ASKER_UNKNOWN, NULL,
                   arena_printf(search->arena, "no such operator: '%s'", search->name));
    } else if (error) {
        search->fn(search->self, ASKER_LATER, NULL,
                   arena_printf(search->arena, "bus: %s", error->text));
    } else if (read_operator_policy(search->arena, search->name, entry->value, asker, &why) < 0) {
        search->fn(search->self, ASKER_UNKNOWN, NULL, arena_strdup(search->arena, why.text));
    } else {
        asker->token = search->token;
        search->fn(search->self, ASKER_FOUND, asker, NULL);
    }
}

/* Copies the token's own policy: the configuration may be reloaded meanwhile. */
static struct param_strs copy_token_globs(struct arena *arena, const struct param_strs *texts)
{
    const char **copy = ARENA_ARRAY(arena, const char *, texts->n + 1);

    for (size_t i = 0; i < texts->n; i++)
        copy[i] = arena_strdup(arena, texts->p[i]);
    return (struct param_strs){ texts->n, copy };
}

static const struct api_asker *copy_asker(struct arena *arena, const struct api_token *token)
{
    struct api_asker *asker = ARENA_NEW(arena, struct api_asker);
    struct operator_policy *policy = ARENA_NEW(arena, struct operator_policy);

    *policy =
        (struct operator_policy){ .name = arena_strdup(arena, token->policy.name),
                                  .role = token->policy.role,
                                  .target = arena_strdup(arena, token->policy.target),
                                  .functions = copy_token_globs(arena, &token->policy.functions),
                                  .approvals = copy_token_globs(arena, &token->policy.approvals),
                                  .created_by = "" };
    *asker = (struct api_asker){ .user = policy->name,
                                 .token = arena_strdup(arena, token->username),
                                 .policy = policy };
    return asker;
}

void asker_find(struct api *api, struct arena *arena, const struct api_token *token, asker_fn *fn,
                void *self)
{
    struct nats_kv kv = api_bucket(api->master, STORE_OPERATORS);
    struct search *search;
    struct err err;

    if (!token->operator_name) {
        fn(self, ASKER_FOUND, copy_asker(arena, token), NULL);
        return;
    }
    kv.indirect = true; /* from the leader, not from a server that lags */
    search = ARENA_NEW(arena, struct search);
    *search = (struct search){ .arena = arena,
                               .name = arena_strdup(arena, token->operator_name),
                               .token = arena_strdup(arena, token->username),
                               .fn = fn,
                               .self = self };
    if (nats_kv_get(&kv, search->name, on_operator_policy, search, &err) < 0)
        fn(self, ASKER_LATER, NULL, err.text);
}

/* --- streams -------------------------------------------------------------------------- */

/* A pending check whether a stream may continue. */
struct asker_check {
    struct arena arena;
    struct api_stream *stream; /* NULL: gone */
};

static void end_refused_stream(struct api_stream *stream, const char *problem)
{
    log_info("stream ends: %s", problem);
    http_stream_send(stream->http, "error",
                     "{\"error\":\"the token of this stream is no longer valid\"}");
    api_stream_end(stream);
}

static void on_stream_checked(void *self, enum asker_outcome outcome, const struct api_asker *asker,
                              const char *problem)
{
    struct asker_check *check = self;
    struct api_stream *stream = check->stream;
    struct arena arena = check->arena;
    struct err why;

    if (stream) {
        stream->check = NULL;
        if (outcome == ASKER_UNKNOWN)
            end_refused_stream(stream, problem);
        else if (outcome == ASKER_FOUND &&
                 api_may_begin(asker, stream->act, get_policy_time(), &why) < 0)
            end_refused_stream(stream, why.text);
    }
    arena_done(&arena); /* the check is in it */
}

bool asker_check_stream(struct api_stream *stream)
{
    const struct api_token *token = asker_find_token(stream->api, &stream->digest);
    struct arena arena = ARENA_INIT;
    struct asker_check *check;
    struct api *api = stream->api;
    const size_t open = api->streams.n;

    if (!token) {
        end_refused_stream(stream, "its token is no longer valid");
        return false;
    }
    if (stream->check)
        return true; /* the previous check is pending */
    check = ARENA_NEW(&arena, struct asker_check);
    check->stream = stream;
    stream->check = check;
    check->arena = arena;
    asker_find(api, &check->arena, token, on_stream_checked, check);
    return api->streams.n == open;
}

void asker_forget_stream(struct api_stream *stream)
{
    if (stream->check)
        stream->check->stream = NULL;
    stream->check = NULL;
}

/* The n-th open stream of this operator; NULL: no more. */
static struct api_stream *find_stream(const struct api *api, const char *name, size_t n)
{
    VEC_EACH (&api->streams, stream)
        if (strcmp((*stream)->user, name) == 0 && n-- == 0)
            return *stream;
    return NULL;
}

/* Use the record in the message: a get might not see it yet. */
static void on_operator_changed(void *self, const struct nats_msg *msg)
{
    struct api *api = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *name =
        arena_str(&arena, str_from_offset(msg->subject, strlen(POLICY_SUBJECTS) - 1)).p;
    struct api_stream *stream;
    struct api_asker asker;
    struct err why;
    const bool is_known = read_operator_policy(&arena, name, msg->payload, &asker, &why) == 0;

    for (size_t kept = 0; (stream = find_stream(api, name, kept));) {
        if (is_known && api_may_begin(&asker, stream->act, get_policy_time(), &why) == 0)
            kept++;
        else
            end_refused_stream(stream, why.text);
    }
}

int asker_watch_start(struct api *api, struct err *err)
{
    api->policies =
        nats_sub_new(api->master->js.conn,
                     &(struct nats_sub_options){
                         .subject = POLICY_SUBJECTS, .message = on_operator_changed, .self = api },
                     err);
    return api->policies ? 0 : -1;
}

void asker_watch_stop(struct api *api)
{
    nats_sub_free(api->policies);
    api->policies = NULL;
}
