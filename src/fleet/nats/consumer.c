#include "fleet/nats/consumer.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/nats/error.h"
#include "fleet/nats/info.h"
#include "fleet/nats/js.h"
#include "fleet/nats/subject.h"

static const char *const delivers[] = { "all",           "last",
                                        "new",           "by_start_sequence",
                                        "by_start_time", "last_per_subject" };
static const char *const acks[] = { "explicit", "none", "all" };
static const char *const replays[] = { "instant", "original" };

/* As it is sent: a durable one has its name twice. */
struct consumer_config {
    struct nats_consumer_config user;
    const char *durable_name;
};

#define AT(field) offsetof(struct consumer_config, user.field)

/* clang-format off */
static const struct nats_field fields[] = {
    { .name = "name", .kind = NATS_FIELD_TEXT, .offset = AT(name), .any = true },
    { .name = "durable_name", .kind = NATS_FIELD_TEXT, .offset = offsetof(struct consumer_config, durable_name) },
    { .name = "description", .kind = NATS_FIELD_TEXT, .offset = AT(description) },
    { .name = "deliver_policy", .kind = NATS_FIELD_CHOICE, .offset = AT(deliver), .choices = delivers },
    { .name = "ack_policy", .kind = NATS_FIELD_CHOICE, .offset = AT(ack), .choices = acks },
    { .name = "replay_policy", .kind = NATS_FIELD_CHOICE, .offset = AT(replay), .choices = replays },
    { .name = "opt_start_seq", .kind = NATS_FIELD_INT, .offset = AT(start_seq) },
    { .name = "opt_start_time", .kind = NATS_FIELD_TEXT, .offset = AT(start_time) },
    { .name = "filter_subject", .kind = NATS_FIELD_TEXT, .offset = AT(filter_subject) },
    { .name = "filter_subjects", .kind = NATS_FIELD_TEXTS, .offset = AT(filter_subjects), .since = NATS_VERSION(2, 10, 0) },
    { .name = "ack_wait", .kind = NATS_FIELD_INT, .offset = AT(ack_wait), .any = true },
    { .name = "max_deliver", .kind = NATS_FIELD_INT, .offset = AT(max_deliver), .default_int = -1 },
    { .name = "max_ack_pending", .kind = NATS_FIELD_INT, .offset = AT(max_ack_pending), .any = true },
    { .name = "max_waiting", .kind = NATS_FIELD_INT, .offset = AT(max_waiting), .any = true },
    { .name = "backoff", .kind = NATS_FIELD_INTS, .offset = AT(backoff) },
    { .name = "max_batch", .kind = NATS_FIELD_INT, .offset = AT(max_request_batch) },
    { .name = "max_expires", .kind = NATS_FIELD_INT, .offset = AT(max_request_expires) },
    { .name = "max_bytes", .kind = NATS_FIELD_INT, .offset = AT(max_request_bytes) },
    { .name = "inactive_threshold", .kind = NATS_FIELD_INT, .offset = AT(inactive_threshold), .any = true },
    { .name = "num_replicas", .kind = NATS_FIELD_INT, .offset = AT(replicas), .any = true },
    { .name = "headers_only", .kind = NATS_FIELD_BOOL, .offset = AT(headers_only) },
    { .name = "mem_storage", .kind = NATS_FIELD_BOOL, .offset = AT(memory) },
    { 0 },
};
/* clang-format on */

struct op {
    struct nats_js js;
    struct arena arena;
    const char *stream, *name;
    struct value asked;               /* a map when there is something to compare */
    struct str config;                /* the same, as it is sent */
    const struct nats_error *refusal; /* of what was asked; it is being explained; or NULL */
    nats_consumer_fn *fn;
    void *self;
};

static void finish_consumer_op(struct op *op, const struct nats_error *error,
                               const struct nats_consumer_info *info)
{
    struct arena arena = op->arena;

    op->fn(op->self, error, info);
    arena_done(&arena); /* the operation is in it */
}

static int send_info(struct op *op, nats_js_fn *fn, struct err *err)
{
    return nats_js_call(&op->js,
                        arena_printf(&op->arena, "CONSUMER.INFO.%s.%s", op->stream, op->name),
                        STR(""), fn, op, err);
}

static void fail_consumer_op(struct op *op, const struct nats_error *error)
{
    struct nats_error why = *error;

    if (why.fault != NATS_FAULT_REFUSED || why.code != 0) /* js.c: it says what is meant */
        nats_error_wrap(&why, "consumer '%s' of stream '%s'", op->name, op->stream);
    finish_consumer_op(op, &why, NULL);
}

/* The server refused to change the one that is there: say what would have changed. */
static void on_update_refused(void *self, const struct nats_error *error, const struct value *reply)
{
    struct op *op = self;
    struct nats_error why = *op->refusal, difference;

    if (!error &&
        nats_fields_compare(fields, &op->asked, value_get(reply, "config"), &difference) < 0)
        nats_error_wrap(&why, "%s", difference.text);
    fail_consumer_op(op, &why);
}

static void explain_refusal(struct op *op, const struct nats_error *error)
{
    struct nats_error *refusal = ARENA_NEW(&op->arena, struct nats_error);
    struct err err;

    *refusal = *error;
    op->refusal = refusal;
    if (send_info(op, on_update_refused, &err) < 0)
        fail_consumer_op(op, error);
}

static void on_consumer_answer(void *self, const struct nats_error *error,
                               const struct value *reply)
{
    struct op *op = self;
    const struct value *config = value_get(reply, "config");
    struct nats_error why;

    if (error) {
        if (error->fault == NATS_FAULT_REFUSED && op->asked.kind == VALUE_MAP)
            explain_refusal(op, error);
        else
            fail_consumer_op(op, error);
        return;
    }
    if (op->asked.kind == VALUE_MAP && nats_fields_compare(fields, &op->asked, config, &why) < 0) {
        fail_consumer_op(op, &why);
        return;
    }
    finish_consumer_op(
        op, NULL,
        &(struct nats_consumer_info){
            .pending = nats_js_number(reply, "num_pending", 0),
            .ack_pending = nats_js_number(reply, "num_ack_pending", 0),
            .redelivered = nats_js_number(reply, "num_redelivered", 0),
            .waiting = nats_js_number(reply, "num_waiting", 0),
            .delivered_stream_seq = (uint64_t)nats_js_number(reply, "delivered.stream_seq", 0),
            .delivered_consumer_seq = (uint64_t)nats_js_number(reply, "delivered.consumer_seq", 0),
            .ack_floor_stream_seq = (uint64_t)nats_js_number(reply, "ack_floor.stream_seq", 0),
            .config = config,
            .reply = reply,
        });
}

static int check_consumer_names(const char *stream, const char *name, struct err *err)
{
    if (!nats_subject_is_token(str_from(stream)))
        return err_set(err, ERR_INVALID, "stream '%s': not a valid name", stream);
    if (!name || !nats_subject_is_token(str_from(name)))
        return err_set(err, ERR_INVALID, "consumer '%s': not a valid name", name ? name : "");
    return 0;
}

static struct op *new_consumer_op(const struct nats_js *js, const char *stream, const char *name,
                                  nats_consumer_fn *fn, void *self)
{
    struct arena arena = ARENA_INIT;
    struct op *op = ARENA_NEW(&arena, struct op);

    *op = (struct op){ .js = *js, .fn = fn, .self = self };
    op->stream = arena_strdup(&arena, stream);
    op->name = arena_strdup(&arena, name);
    op->arena = arena;
    return op;
}

static int drop_consumer_op(struct op *op, struct err *err)
{
    struct arena arena = op->arena;

    err_wrap(err, "consumer '%s' of stream '%s'", op->name, op->stream);
    arena_done(&arena);
    return -1;
}

/* A durable one by the older call, which every server knows. */
static int send_create(struct op *op, bool durable, struct err *err)
{
    AUTO_BUF struct buf body = BUF_INIT(NATS_JS_BODY_MAX);
    const char *verb = arena_printf(&op->arena, "CONSUMER.%s.%s.%s",
                                    durable ? "DURABLE.CREATE" : "CREATE", op->stream, op->name);

    buf_add_text(&body, "{\"stream_name\":");
    json_print_text(&body, str_from(op->stream), JSON_STYLE_COMPACT);
    buf_add_text(&body, ",\"config\":");
    buf_add_str(&body, op->config);
    buf_add_char(&body, '}');
    return nats_js_call(&op->js, verb, buf_view(&body), on_consumer_answer, op, err);
}

static void on_consumer_found(void *self, const struct nats_error *error, const struct value *reply)
{
    struct op *op = self;
    struct nats_error why;
    struct err err;

    if (error && error->fault != NATS_FAULT_NOT_FOUND) {
        fail_consumer_op(op, error);
    } else if (!error &&
               nats_fields_compare(fields, &op->asked, value_get(reply, "config"), &why) == 0) {
        on_consumer_answer(op, NULL, reply);
    } else if (send_create(op, true, &err) < 0) {
        nats_error_set(&why, NATS_FAULT_SLOW, 0, "%s", err.text);
        fail_consumer_op(op, &why);
    }
}

/* A durable one may be there as it is asked for. Then the cluster need not agree on it again: that
 * takes its leader, which may be away for a while when a server has ended. */
static int send_ensure(struct op *op, bool durable, struct err *err)
{
    if (op->js.only_compare)
        return send_info(op, on_consumer_answer, err);
    return durable ? send_info(op, on_consumer_found, err) : send_create(op, false, err);
}

int nats_consumer_ensure(const struct nats_js *js, const char *stream,
                         const struct nats_consumer_config *config, nats_consumer_fn *fn,
                         void *self, struct err *err)
{
    const struct consumer_config whole = { *config, config->durable ? config->name : NULL };
    AUTO_BUF struct buf text = BUF_INIT(NATS_JS_BODY_MAX);
    struct op *op;

    if (check_consumer_names(stream, config->name, err) < 0)
        return -1;
    op = new_consumer_op(js, stream, config->name, fn, self);
    if (nats_fields_print(fields, &whole, nats_conn_version(js->conn), &text, err) < 0)
        return drop_consumer_op(op, err);
    op->config = buf_copy(&text, &op->arena);
    if (json_decode(&op->arena, op->config, &op->asked, err) < 0 ||
        send_ensure(op, config->durable, err) < 0)
        return drop_consumer_op(op, err);
    return 0;
}

int nats_consumer_info(const struct nats_js *js, const char *stream, const char *name,
                       nats_consumer_fn *fn, void *self, struct err *err)
{
    struct op *op;

    if (check_consumer_names(stream, name, err) < 0)
        return -1;
    op = new_consumer_op(js, stream, name, fn, self);
    if (send_info(op, on_consumer_answer, err) < 0)
        return drop_consumer_op(op, err);
    return 0;
}

int nats_consumer_delete(const struct nats_js *js, const char *stream, const char *name,
                         nats_done_fn *fn, void *self, struct err *err)
{
    AUTO_BUF struct buf verb = BUF_INIT(NATS_SUBJECT_MAX);

    if (check_consumer_names(stream, name, err) < 0)
        return -1;
    buf_printf(&verb, "CONSUMER.DELETE.%s.%s", stream, name);
    return nats_js_do(js, buf_text(&verb), STR(""), fn, self, err);
}

/* --- poison ------------------------------------------------------------------------- */

bool nats_poison_parse(struct arena *arena, struct str payload, struct nats_poison *ret_poison)
{
    struct value event;
    struct err err;

    if (json_decode_lenient(arena, payload, &event, &err) < 0 || event.kind != VALUE_MAP)
        return false;
    *ret_poison = (struct nats_poison){
        .stream = value_get_view(&event, "stream"),
        .consumer = value_get_view(&event, "consumer"),
        .stream_seq = (uint64_t)nats_js_number(&event, "stream_seq", 0),
        .deliveries = nats_js_number(&event, "deliveries", 0),
    };
    return ret_poison->stream_seq > 0;
}
