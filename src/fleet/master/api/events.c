/* Events: send, watch. */

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/glob.h"
#include "fleet/bus/bus_time.h"
#include "fleet/view/event.h"
#include "fleet/master/api/api.h"
#include "fleet/master/api/handlers.h"
#include "fleet/master/api/stream.h"
#include "fleet/master/audit.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/publisher.h"
#include "fleet/reactor/rule_set.h"

#define BODY  struct api_event_body
#define QUERY struct api_events_query

/* clang-format off */
const struct param api_event_body[] = {
    PARAM("tag",  STR, BODY, tag, "parts with slashes or dots between them; rules match the key `_admin/TAG`", .flags = PARAM_REQUIRED),
    PARAM("data", MAP, BODY, data, "what it says"),
    { 0 },
};

const struct param api_events_query[] = {
    PARAM("match", STR, QUERY, match, "only events whose key `<origin>/<tag>` matches, as in rules: `*` matches `/` too", .flags = PARAM_FILLED, .kind_text = "GLOB"),
    { 0 },
};
/* clang-format on */

/* --- send --------------------------------------------------------------------------- */

void api_event_check(struct arena *arena, const void *values, const struct value *given,
                     struct diags *diags)
{
    const BODY *body = values;
    const char *tag;
    struct err err;

    (void)given;
    if (body->tag && event_tag_read(arena, str_from(body->tag), &tag, &err) < 0)
        (void)diag_add(diags, (struct place){ 0 }, "'tag': %s", err.text);
}

static void on_posted_event_stored(void *self, const struct nats_error *error,
                                   const struct nats_stored_ack *ack)
{
    struct api_call *call = self;
    const struct fleet_event *event = call->work;
    struct value receipt;

    (void)ack;
    audit_log(&(struct audit){ .action = "event.send",
                               .by = call->asker.user,
                               .id = event->id,
                               .target = event->key,
                               .error = error ? error->text : NULL });
    if (error) {
        api_fail_bus(call, error);
        return;
    }
    receipt = fleet_event_receipt(&call->arena, event);
    api_answer(call, API_ACCEPTED, &receipt);
}

void api_send_event(struct api_call *call)
{
    const BODY *body = call->body;
    AUTO_BUF struct buf payload = BUF_INIT(BUF_NO_LIMIT);
    struct fleet_event *event = ARENA_NEW(&call->arena, struct fleet_event);
    const struct value data = body->data ? *body->data : value_null();
    struct err err;

    call->work = event;
    if (fleet_event_make(&call->arena, str_from(body->tag), data, bus_time(), event, &err) < 0 ||
        record_encode(&payload, &event_type, &event->event, &err) < 0)
        api_fail(call, API_BAD, "%s", err.text);
    else if (payload.n > nats_conn_max_payload(call->master->js.conn) / 2)
        api_fail(call, API_TOO_LARGE, "the event has %zu bytes, which is too much for the bus",
                 payload.n);
    else if (nats_publisher_send(call->api->events,
                                 &(struct nats_store){ .subject = str_from(event->subject),
                                                       .payload = buf_view(&payload),
                                                       .id = str_from(event->id) },
                                 on_posted_event_stored, call, &err) < 0)
        api_fail_later(call, err.text);
}

/* --- watch -------------------------------------------------------------------------- */

struct watching {
    struct api_stream stream;
    struct arena arena;    /* it is in it */
    struct api_call *call; /* NULL: it is answered */
    struct str pattern;    /* a NULL view: all */
    struct nats_sub *sub;
};

static void end_watching(struct watching *watching)
{
    struct arena arena = watching->arena;

    nats_sub_free(watching->sub);
    arena_done(&arena);
}

static void on_event_stream_closed(struct api_stream *stream)
{
    end_watching(container_of(stream, struct watching, stream));
}

/* Malformed events are skipped. Origin and tag come from the subject. */
static void on_streamed_event(void *self, const struct nats_msg *msg)
{
    struct watching *watching = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct event_source source;
    struct event event;
    struct value record;
    struct err err;

    if (watching->call || !event_parse_subject(&arena, msg->subject, &source) ||
        record_decode(&arena, &event_type, 0, msg->payload, &event, &err) < 0 ||
        (watching->pattern.p && !glob_match(watching->pattern, str_from(source.key))))
        return;
    record = event_describe(&arena, &source, &event);
    api_stream_send(&watching->stream, "event", &record);
}

static void fail_event_stream(struct watching *watching, const char *text)
{
    api_fail_later(watching->call, text);
    end_watching(watching);
}

/* Subscribed: the client sees every event after this. */
static void on_events_subscribed(void *self, const struct nats_error *error)
{
    static const struct api_stream_kind kind = { .closed = on_event_stream_closed };
    struct watching *watching = self;
    struct api_call *call = watching->call;

    if (error) {
        fail_event_stream(watching, error->text);
        return;
    }
    watching->call = NULL;
    if (!api_stream_open(&watching->stream, call, &kind))
        end_watching(watching);
}

void api_stream_events(struct api_call *call)
{
    const QUERY *query = call->query;
    struct arena arena = ARENA_INIT;
    struct watching *watching;
    struct err err;

    if (!api_stream_has_room(call))
        return;
    watching = ARENA_NEW(&arena, struct watching);
    watching->call = call;
    if (query->match)
        watching->pattern = rule_pattern(&arena, str_from(query->match));
    watching->arena = arena;
    watching->sub = nats_sub_new(call->master->js.conn,
                                 &(struct nats_sub_options){ .subject = "zester.event.>",
                                                             .message = on_streamed_event,
                                                             .self = watching },
                                 &err);
    if (!watching->sub ||
        nats_flush(call->master->js.conn, on_events_subscribed, watching, &err) < 0)
        fail_event_stream(watching, err.text);
}
