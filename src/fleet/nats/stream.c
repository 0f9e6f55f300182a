#include "fleet/nats/stream.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/data/json.h"
#include "core/data/scalar.h"
#include "core/data/value.h"
#include "fleet/nats/error.h"
#include "fleet/nats/header.h"
#include "fleet/nats/info.h"
#include "fleet/nats/js.h"
#include "fleet/nats/request.h"
#include "fleet/nats/subject.h"

static const char *const retentions[] = { "limits", "interest", "workqueue" };
static const char *const storages[] = { "file", "memory" };
static const char *const discards[] = { "old", "new" };
static const char *const compressions[] = { "none", "s2" };

/* A new limit is this multiple of the stream's content. */
#define BYTES_ROOM 2

#define AT(field) offsetof(struct nats_stream_config, field)

/* clang-format off */
static const struct nats_field fields[] = {
    { .name = "name", .kind = NATS_FIELD_TEXT, .offset = AT(name), .any = true },
    { .name = "description", .kind = NATS_FIELD_TEXT, .offset = AT(description) },
    { .name = "subjects", .kind = NATS_FIELD_TEXTS, .offset = AT(subjects), .any = true },
    { .name = "retention", .kind = NATS_FIELD_CHOICE, .offset = AT(retention), .choices = retentions },
    { .name = "storage", .kind = NATS_FIELD_CHOICE, .offset = AT(storage), .choices = storages },
    { .name = "discard", .kind = NATS_FIELD_CHOICE, .offset = AT(discard), .choices = discards },
    { .name = "compression", .kind = NATS_FIELD_CHOICE, .offset = AT(compression), .choices = compressions,
      .since = NATS_VERSION(2, 10, 0) },
    { .name = "max_consumers", .kind = NATS_FIELD_INT, .offset = AT(max_consumers), .default_int = -1 },
    { .name = "max_msgs", .kind = NATS_FIELD_INT, .offset = AT(max_msgs), .default_int = -1 },
    { .name = "max_bytes", .kind = NATS_FIELD_INT, .offset = AT(max_bytes), .default_int = -1 },
    { .name = "max_age", .kind = NATS_FIELD_INT, .offset = AT(max_age) },
    { .name = "max_msgs_per_subject", .kind = NATS_FIELD_INT, .offset = AT(max_msgs_per_subject), .default_int = -1 },
    { .name = "max_msg_size", .kind = NATS_FIELD_INT, .offset = AT(max_msg_size), .default_int = -1 },
    { .name = "num_replicas", .kind = NATS_FIELD_INT, .offset = AT(replicas), .any = true },
    { .name = "duplicate_window", .kind = NATS_FIELD_INT, .offset = AT(duplicate_window), .any = true },
    { .name = "allow_direct", .kind = NATS_FIELD_BOOL, .offset = AT(allow_direct) },
    { .name = "allow_rollup_hdrs", .kind = NATS_FIELD_BOOL, .offset = AT(allow_rollup) },
    { .name = "deny_delete", .kind = NATS_FIELD_BOOL, .offset = AT(deny_delete) },
    { .name = "deny_purge", .kind = NATS_FIELD_BOOL, .offset = AT(deny_purge) },
    { .name = "no_ack", .kind = NATS_FIELD_BOOL, .offset = AT(no_ack) },
    { .name = "discard_new_per_subject", .kind = NATS_FIELD_BOOL, .offset = AT(discard_new_per_subject) },
    { .name = "republish.src", .kind = NATS_FIELD_TEXT, .offset = AT(republish_source) },
    { .name = "republish.dest", .kind = NATS_FIELD_TEXT, .offset = AT(republish_destination) },
    { .name = "republish.headers_only", .kind = NATS_FIELD_BOOL, .offset = AT(republish_headers_only) },
    { 0 },
};
/* clang-format on */

enum stream_action { PLAN_CREATE, PLAN_UPDATE, PLAN_ENSURE, PLAN_COMPARE, PLAN_INFO };

/* One operation, which may take several calls. */
struct op {
    struct nats_js js;
    struct arena arena;
    enum stream_action plan;
    bool is_made;           /* ENSURE: created, without max_bytes, which an update adds: a cluster
                               that has just started does not know how much its servers have, and
                               finds no place for what reserves something */
    bool sent;              /* ENSURE: the update; what comes then counts */
    const char *difference; /* ENSURE: why there is an update, with both values; or NULL */
    const char *name;
    struct str body;    /* the configuration */
    struct str bare;    /* the same without max_bytes */
    struct value asked; /* the same as a value; a map unless INFO */
    bool keeps_max_bytes;
    nats_stream_fn *fn;
    void *self;
};

static void finish_stream_op(struct op *op, const struct nats_error *error,
                             const struct nats_stream_info *info)
{
    struct arena arena = op->arena;

    op->fn(op->self, error, info);
    arena_done(&arena); /* the operation is in it */
}

static void on_stream_answer(void *self, const struct nats_error *error, const struct value *reply);

static int send_stream_op(struct op *op, const char *verb, struct str body, struct err *err)
{
    const char *subject = arena_printf(&op->arena, "STREAM.%s.%s", verb, op->name);

    return nats_js_call(&op->js, subject, body, on_stream_answer, op, err);
}

static void send_change(struct op *op, const char *verb, struct str body)
{
    struct nats_error error;
    struct err err;

    if (send_stream_op(op, verb, body, &err) == 0)
        return;
    nats_error_set(&error, NATS_FAULT_SLOW, 0, "stream '%s': %s", op->name, err.text);
    finish_stream_op(op, &error, NULL);
}

static void read_info(const struct value *reply, struct nats_stream_info *ret)
{
    *ret = (struct nats_stream_info){
        .messages = nats_js_number(reply, "state.messages", 0),
        .bytes = nats_js_number(reply, "state.bytes", 0),
        .consumers = nats_js_number(reply, "state.consumer_count", 0),
        .subjects = nats_js_number(reply, "state.num_subjects", 0),
        .first_seq = (uint64_t)nats_js_number(reply, "state.first_seq", 0),
        .last_seq = (uint64_t)nats_js_number(reply, "state.last_seq", 0),
        .config = value_get(reply, "config"),
        .reply = reply,
    };
}

/* The limit that the stream is to have, now that it is known what is in it. */
static int64_t fit_max_bytes(const struct op *op, const struct nats_stream_info *info)
{
    const int64_t asked = nats_js_number(&op->asked, "max_bytes", 0);
    const int64_t there = nats_js_number(info->config, "max_bytes", 0);

    if (asked <= 0 || asked == there)
        return asked;
    if (there > 0 && op->keeps_max_bytes)
        return there;
    return asked / BYTES_ROOM >= info->bytes ? asked : info->bytes * BYTES_ROOM;
}

static void ask_for_max_bytes(struct op *op, int64_t max_bytes)
{
    AUTO_BUF struct buf body = BUF_INIT(NATS_JS_BODY_MAX);
    struct err ignored; /* it has been printed before */

    value_map_set(&op->arena, op->asked.map, value_text("max_bytes"), value_int(max_bytes));
    (void)json_print(&body, &op->asked, JSON_STYLE_COMPACT, &ignored);
    op->body = buf_copy(&body, &op->arena);
}

static void fit_to_content(struct op *op, const struct nats_stream_info *info)
{
    const int64_t fitting = fit_max_bytes(op, info);

    if ((op->plan == PLAN_ENSURE || op->plan == PLAN_COMPARE) && !op->sent &&
        fitting != nats_js_number(&op->asked, "max_bytes", 0))
        ask_for_max_bytes(op, fitting);
}

static void on_stream_answer(void *self, const struct nats_error *error, const struct value *reply)
{
    struct op *op = self;
    struct nats_stream_info info;
    struct nats_error why;

    if (error) {
        why = *error;
        if (op->plan == PLAN_ENSURE && !op->is_made && error->fault == NATS_FAULT_NOT_FOUND) {
            op->is_made = true;
            send_change(op, "CREATE", op->bare);
            return;
        }
        if (op->difference && error->fault == NATS_FAULT_REFUSED)
            nats_error_wrap(&why, "%s", op->difference);
        nats_error_wrap(&why, "stream '%s'", op->name);
        finish_stream_op(op, &why, NULL);
        return;
    }
    read_info(reply, &info);
    fit_to_content(op, &info);
    if (op->plan != PLAN_INFO && nats_fields_compare(fields, &op->asked, info.config, &why) < 0) {
        if (op->plan == PLAN_ENSURE && !op->sent) {
            op->difference = arena_strdup(&op->arena, why.text);
            op->sent = true;
            send_change(op, "UPDATE", op->body);
            return;
        }
        nats_error_wrap(&why, "stream '%s'", op->name);
        finish_stream_op(op, &why, NULL);
        return;
    }
    finish_stream_op(op, NULL, &info);
}

static struct op *new_stream_op(const struct nats_js *js, enum stream_action plan, const char *name,
                                nats_stream_fn *fn, void *self)
{
    struct arena arena = ARENA_INIT;
    struct op *op = ARENA_NEW(&arena, struct op);

    *op = (struct op){ .js = *js, .plan = plan, .fn = fn, .self = self };
    op->name = arena_strdup(&arena, name ? name : "");
    op->arena = arena;
    return op;
}

static int drop_stream_op(struct op *op, struct err *err)
{
    struct arena arena = op->arena;

    err_wrap(err, "stream '%s'", op->name);
    arena_done(&arena);
    return -1;
}

static int prepare_stream_op(struct op *op, const struct nats_stream_config *config,
                             struct err *err)
{
    AUTO_BUF struct buf body = BUF_INIT(NATS_JS_BODY_MAX), bare = BUF_INIT(NATS_JS_BODY_MAX);
    struct nats_stream_config without;

    if (!nats_subject_is_token(str_from(op->name)))
        return err_set(err, ERR_INVALID, "not a valid name");
    if (!config)
        return 0;
    without = *config;
    without.max_bytes = 0;
    if (nats_fields_print(fields, config, nats_conn_version(op->js.conn), &body, err) < 0 ||
        nats_fields_print(fields, &without, nats_conn_version(op->js.conn), &bare, err) < 0)
        return -1;
    op->bare = buf_copy(&bare, &op->arena);
    op->body = buf_copy(&body, &op->arena);
    op->keeps_max_bytes = config->keeps_max_bytes;
    return json_decode(&op->arena, op->body, &op->asked, err);
}

static int begin_call(const struct nats_js *js, enum stream_action plan, const char *name,
                      const struct nats_stream_config *config, nats_stream_fn *fn, void *self,
                      struct err *err)
{
    static const char *const verbs[] = { [PLAN_CREATE] = "CREATE",
                                         [PLAN_UPDATE] = "UPDATE",
                                         [PLAN_ENSURE] = "INFO",
                                         [PLAN_COMPARE] = "INFO",
                                         [PLAN_INFO] = "INFO" };
    struct op *op = new_stream_op(js, plan, name, fn, self);
    bool change = plan == PLAN_CREATE || plan == PLAN_UPDATE;

    if (prepare_stream_op(op, config, err) < 0 ||
        send_stream_op(op, verbs[plan], change ? op->body : STR(""), err) < 0)
        return drop_stream_op(op, err);
    return 0;
}

int nats_stream_create(const struct nats_js *js, const struct nats_stream_config *config,
                       nats_stream_fn *fn, void *self, struct err *err)
{
    return begin_call(js, PLAN_CREATE, config->name, config, fn, self, err);
}

int nats_stream_update(const struct nats_js *js, const struct nats_stream_config *config,
                       nats_stream_fn *fn, void *self, struct err *err)
{
    return begin_call(js, PLAN_UPDATE, config->name, config, fn, self, err);
}

int nats_stream_ensure(const struct nats_js *js, const struct nats_stream_config *config,
                       nats_stream_fn *fn, void *self, struct err *err)
{
    return begin_call(js, js->only_compare ? PLAN_COMPARE : PLAN_ENSURE, config->name, config, fn,
                      self, err);
}

struct ensure_call {
    nats_done_fn *fn;
    void *self;
};

static void on_stream_settled(void *self, const struct nats_error *error,
                              const struct nats_stream_info *info)
{
    struct ensure_call call = *(struct ensure_call *)self;

    (void)info;
    free(self);
    call.fn(call.self, error);
}

int nats_stream_ensure_done(const struct nats_js *js, const struct nats_stream_config *config,
                            nats_done_fn *fn, void *self, struct err *err)
{
    struct ensure_call *call = mem_alloc(sizeof(*call));

    *call = (struct ensure_call){ fn, self };
    if (nats_stream_ensure(js, config, on_stream_settled, call, err) == 0)
        return 0;
    free(call);
    return -1;
}

int nats_stream_info(const struct nats_js *js, const char *name, nats_stream_fn *fn, void *self,
                     struct err *err)
{
    return begin_call(js, PLAN_INFO, name, NULL, fn, self, err);
}

/* --- delete and purge --------------------------------------------------------------- */

static int call_done(const struct nats_js *js, const char *verb, const char *name, struct str body,
                     nats_done_fn *fn, void *self, struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(NATS_SUBJECT_MAX);

    if (!nats_subject_is_token(str_from(name)))
        return err_set(err, ERR_INVALID, "stream '%s': not a valid name", name);
    buf_printf(&subject, "STREAM.%s.%s", verb, name);
    return nats_js_do(js, buf_text(&subject), body, fn, self, err);
}

int nats_stream_delete(const struct nats_js *js, const char *name, nats_done_fn *fn, void *self,
                       struct err *err)
{
    return call_done(js, "DELETE", name, STR(""), fn, self, err);
}

int nats_stream_purge(const struct nats_js *js, const char *name, const struct nats_purge *purge,
                      nats_done_fn *fn, void *self, struct err *err)
{
    AUTO_BUF struct buf body = BUF_INIT(NATS_JS_BODY_MAX);

    if (purge->subject) {
        buf_add_text(&body, "{\"filter\":");
        json_print_text(&body, str_from(purge->subject), JSON_STYLE_COMPACT);
    }
    if (purge->keep)
        buf_printf(&body, "%s\"keep\":%llu", body.n ? "," : "{", (unsigned long long)purge->keep);
    if (purge->below)
        buf_printf(&body, "%s\"seq\":%llu", body.n ? "," : "{", (unsigned long long)purge->below);
    if (body.n)
        buf_add_char(&body, '}');
    return call_done(js, "PURGE", name, buf_view(&body), fn, self, err);
}

/* --- reading messages --------------------------------------------------------------- */

struct get_call {
    nats_stored_fn *fn;
    void *self;
};

static int64_t parse_message_time(struct str text)
{
    struct value v;

    if (!scalar_parse_time(text, &v))
        return 0;
    return v.t.seconds * NUMBER_NS_PER_S + v.t.nanoseconds;
}

static void fail_message_get(const struct get_call *call, enum nats_fault fault, int code,
                             struct str text)
{
    struct nats_error error;

    nats_error_set(&error, fault, code, "JetStream: %.*s", STR_ARG(text));
    call->fn(call->self, &error, NULL);
}

/* A direct answer is the message itself, with what is known about it in headers. */
static void on_direct(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct get_call call = *(struct get_call *)self;
    struct nats_stored stored = { 0 };
    struct str text, seq;
    struct err err;
    int status;

    free(self);
    if (error) {
        call.fn(call.self, error, NULL);
        return;
    }
    status = nats_header_status(msg->header, &text);
    if (status != 0) {
        fail_message_get(
            &call, status == NATS_HEADER_NOT_FOUND ? NATS_FAULT_NOT_FOUND : NATS_FAULT_REFUSED,
            status == NATS_HEADER_NOT_FOUND ? NATS_JS_MESSAGE_NOT_FOUND : status, text);
        return;
    }
    if (!nats_header_find(msg->header, "Nats-Subject", &stored.subject) ||
        !nats_header_find(msg->header, "Nats-Sequence", &seq) ||
        number_parse_uint(seq, &stored.seq, &err) < 0) {
        fail_message_get(&call, NATS_FAULT_PROTOCOL, 0, STR("a message without its sequence"));
        return;
    }
    if (nats_header_find(msg->header, "Nats-Time-Stamp", &text))
        stored.time = parse_message_time(text);
    stored.header = msg->header;
    stored.payload = msg->payload;
    call.fn(call.self, NULL, &stored);
}

static void on_stream_message(void *self, const struct nats_error *error, const struct value *reply)
{
    AUTO_BUF struct buf header = BUF_INIT(NATS_JS_BODY_MAX), data = BUF_INIT(JSON_SIZE_MAX);
    struct get_call call = *(struct get_call *)self;
    const struct value *message;
    struct err err;

    free(self);
    if (error) {
        call.fn(call.self, error, NULL);
        return;
    }
    message = value_get(reply, "message");
    if (base64_decode(value_get_view(message, "hdrs"), BASE64_STANDARD, &header, &err) < 0 ||
        base64_decode(value_get_view(message, "data"), BASE64_STANDARD, &data, &err) < 0) {
        fail_message_get(&call, NATS_FAULT_PROTOCOL, 0, str_from(err.text));
        return;
    }
    call.fn(call.self, NULL,
            &(struct nats_stored){ .seq = (uint64_t)nats_js_number(message, "seq", 0),
                                   .time = parse_message_time(value_get_view(message, "time")),
                                   .subject = value_get_view(message, "subject"),
                                   .header = buf_view(&header),
                                   .payload = buf_view(&data) });
}

static void print_which(const struct nats_which *which, struct buf *out)
{
    if (which->last_of) {
        buf_add_text(out, "{\"last_by_subj\":");
        json_print_text(out, str_from(which->last_of), JSON_STYLE_COMPACT);
        buf_add_char(out, '}');
    } else {
        buf_printf(out, "{\"seq\":%llu", (unsigned long long)which->seq);
        if (which->next_of) {
            buf_add_text(out, ",\"next_by_subj\":");
            json_print_text(out, str_from(which->next_of), JSON_STYLE_COMPACT);
        }
        buf_add_char(out, '}');
    }
}

/* The last message of a subject is asked for by a subject of the API, which can be granted. */
static int get_direct(const struct nats_js *js, const char *name, const struct nats_which *which,
                      struct get_call *call, struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(NATS_SUBJECT_MAX), body = BUF_INIT(NATS_JS_BODY_MAX);

    buf_printf(&subject, "%s.DIRECT.GET.%s", nats_js_prefix(js), name);
    if (which->last_of)
        buf_printf(&subject, ".%s", which->last_of);
    else
        print_which(which, &body);
    return nats_request(
        js->conn, &(struct nats_pub){ .subject = buf_view(&subject), .payload = buf_view(&body) },
        nats_js_timeout(js), on_direct, call, NULL, err);
}

int nats_stream_get(const struct nats_js *js, const char *name, const struct nats_which *which,
                    nats_stored_fn *fn, void *self, struct err *err)
{
    AUTO_BUF struct buf subject = BUF_INIT(NATS_SUBJECT_MAX), body = BUF_INIT(NATS_JS_BODY_MAX);
    struct get_call *call;
    int result;

    if (!nats_subject_is_token(str_from(name)))
        return err_set(err, ERR_INVALID, "stream '%s': not a valid name", name);
    call = mem_alloc(sizeof(*call));
    *call = (struct get_call){ fn, self };
    if (which->direct) {
        result = get_direct(js, name, which, call, err);
    } else {
        buf_printf(&subject, "STREAM.MSG.GET.%s", name);
        print_which(which, &body);
        result =
            nats_js_call(js, buf_text(&subject), buf_view(&body), on_stream_message, call, err);
    }
    if (result < 0)
        free(call);
    return result;
}
