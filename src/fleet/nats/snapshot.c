#include "fleet/nats/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "core/sys/timers.h"
#include "fleet/nats/error.h"
#include "fleet/nats/header.h"
#include "fleet/nats/js.h"
#include "fleet/nats/request.h"
#include "fleet/nats/subject.h"

/* A server sends less than this without an acknowledgement. */
#define EARLY_MAX ((size_t)16 << 20)
/* Statuses above this are errors. */
#define STATUS_GOOD_MAX 299

/* --- take ----------------------------------------------------------------------------- */

struct take {
    struct arena arena; /* it is in it */
    struct nats_js js;
    struct nats_snapshot_reader reader;
    struct nats_sub *sub;
    struct timer idle;
    bool has_begun;   /* the answer to the request came */
    bool has_answer;  /* or an error in its place */
    bool is_complete; /* the end came before it */
    bool is_ended;
    struct nats_error error;
    /* Chunks that overtook the answer. */
    struct buf early;
    VEC(const char *) early_replies;
};

/* The request still calls back when another part has failed before. */
static void release_take(struct take *take)
{
    struct arena arena = take->arena;

    if (!take->is_ended || !take->has_answer)
        return;
    buf_done(&take->early);
    vec_done(&take->early_replies);
    arena_done(&arena);
}

static void end_take(struct take *take, const struct nats_error *error)
{
    const struct nats_snapshot_reader reader = take->reader;
    const struct nats_error kept = error ? *error : (struct nats_error){ 0 };

    if (take->is_ended)
        return;
    take->is_ended = true;
    timer_clear(loop_timers(nats_conn_loop(take->js.conn)), &take->idle);
    nats_sub_free(take->sub);
    take->sub = NULL;
    release_take(take);
    reader.done(reader.self, error ? &kept : NULL);
}

static void fail_take(struct take *take, const struct err *err)
{
    struct nats_error error;

    nats_error_set(&error, NATS_FAULT_CANCELED, 0, "%s", err->text);
    end_take(take, &error);
}

static void on_take_idle(struct timer *timer)
{
    struct take *take = container_of(timer, struct take, idle);
    struct nats_error error;

    nats_error_set(&error, NATS_FAULT_TIMEOUT, 0, "the server stopped in the middle of the copy");
    end_take(take, &error);
}

static void arm_take(struct take *take)
{
    timer_set(
        loop_timers(nats_conn_loop(take->js.conn)), &take->idle,
        clock_after(clock_now(), take->has_begun ? NATS_SNAPSHOT_IDLE_NS : NATS_SNAPSHOT_SETTLE_NS),
        on_take_idle);
}

static int take_chunk(struct take *take, struct str bytes, const char *reply, struct err *err)
{
    const struct nats_pub ack = { .subject = str_from(reply) };

    if (take->reader.chunk(take->reader.self, bytes, err) < 0)
        return -1;
    return reply[0] ? nats_publish(take->js.conn, &ack, err) : 0;
}

static int take_early(struct take *take, struct err *err)
{
    const struct nats_pub none = { 0 };
    struct nats_pub ack = none;

    if (take->early.n > 0 && take->reader.chunk(take->reader.self, buf_view(&take->early), err) < 0)
        return -1;
    VEC_EACH (&take->early_replies, reply) {
        ack.subject = str_from(*reply);
        if (nats_publish(take->js.conn, &ack, err) < 0)
            return -1;
    }
    buf_clear(&take->early);
    return 0;
}

static int keep_early(struct take *take, const struct nats_msg *msg, struct err *err)
{
    buf_add_str(&take->early, msg->payload);
    if (take->early.full)
        return err_set(err, ERR_LIMIT, "the server sent more than it should");
    if (msg->reply.n > 0)
        VEC_PUSH(&take->early_replies, arena_str(&take->arena, msg->reply).p);
    return 0;
}

/* The last message is empty; a later server gives it a status. */
static void note_end(struct take *take, const struct nats_msg *msg)
{
    struct nats_error error;
    struct str text = { 0 };
    const int status = msg->header.n > 0 ? nats_header_status(msg->header, &text) : 0;

    if (status > STATUS_GOOD_MAX) {
        nats_error_set(&error, NATS_FAULT_REFUSED, status, "JetStream: %.*s", STR_ARG(text));
        end_take(take, &error);
    } else if (take->has_begun) {
        end_take(take, NULL);
    } else {
        take->is_complete = true;
    }
}

static void on_snapshot_chunk(void *self, const struct nats_msg *msg)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct take *take = self;
    struct err err;
    int result;

    arm_take(take);
    if (msg->payload.n == 0) {
        note_end(take, msg);
        return;
    }
    if (take->has_begun)
        result = take_chunk(take, msg->payload, arena_str(&arena, msg->reply).p, &err);
    else
        result = keep_early(take, msg, &err);
    if (result < 0)
        fail_take(take, &err);
}

static void on_snapshot_answer(void *self, const struct nats_error *error,
                               const struct value *reply)
{
    struct take *take = self;
    struct err err;

    take->has_answer = true;
    if (take->is_ended) {
        release_take(take);
        return;
    }
    if (error) {
        end_take(take, error);
        return;
    }
    take->has_begun = true;
    arm_take(take);
    if (take->reader.begin(take->reader.self, value_get(reply, "config"), value_get(reply, "state"),
                           &err) < 0 ||
        take_early(take, &err) < 0)
        fail_take(take, &err);
    else if (take->is_complete)
        end_take(take, NULL);
}

static void on_snapshot_refused(void *self, const struct nats_error *error)
{
    end_take(self, error);
}

static int subscribe_chunks(struct take *take, struct buf *body, struct err *err)
{
    AUTO_BUF struct buf inbox = BUF_INIT(NATS_SUBJECT_MAX);
    struct nats_sub_options options = { .message = on_snapshot_chunk,
                                        .failed = on_snapshot_refused,
                                        .self = take };

    nats_inbox_print(take->js.conn, &inbox);
    options.subject = buf_text(&inbox);
    take->sub = nats_sub_new(take->js.conn, &options, err);
    buf_printf(body, "{\"deliver_subject\":\"%s\",\"jsck\":true,\"chunk_size\":%zu}",
               options.subject, NATS_SNAPSHOT_CHUNK);
    return take->sub ? 0 : -1;
}

int nats_snapshot_take(const struct nats_js *js, const char *stream,
                       const struct nats_snapshot_reader *reader, struct err *err)
{
    AUTO_BUF struct buf body = BUF_INIT(NATS_JS_BODY_MAX);
    struct arena arena = ARENA_INIT;
    struct take *take = ARENA_NEW(&arena, struct take);

    *take = (struct take){ .js = *js, .reader = *reader, .early = BUF_INIT(EARLY_MAX) };
    take->js.timeout = NATS_SNAPSHOT_SETTLE_NS;
    take->arena = arena;
    if (subscribe_chunks(take, &body, err) == 0 &&
        nats_js_call(&take->js, arena_printf(&take->arena, "STREAM.SNAPSHOT.%s", stream),
                     buf_view(&body), on_snapshot_answer, take, err) == 0) {
        arm_take(take);
        return 0;
    }
    nats_sub_free(take->sub);
    arena = take->arena;
    arena_done(&arena);
    return -1;
}

/* --- restore -------------------------------------------------------------------------- */

struct stream_restore {
    struct arena arena; /* it is in it */
    struct nats_js js;
    struct nats_snapshot_source source;
    const char *subject; /* of chunks */
    bool is_last;        /* all chunks were sent */
};

static void end_restore(struct stream_restore *restore, const struct nats_error *error)
{
    const struct nats_snapshot_source source = restore->source;
    const struct nats_error kept = error ? *error : (struct nats_error){ 0 };
    struct arena arena = restore->arena;

    arena_done(&arena);
    source.done(source.self, error ? &kept : NULL);
}

static void fail_restore(struct stream_restore *restore, const struct err *err)
{
    struct nats_error error;

    nats_error_set(&error, NATS_FAULT_CANCELED, 0, "%s", err->text);
    end_restore(restore, &error);
}

static void send_next_chunk(struct stream_restore *restore);

/* A chunk is acknowledged with an empty message, the end with the stream. */
static void judge_answer(struct stream_restore *restore, struct str payload)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct nats_error refused;
    struct value reply;
    struct err err;

    if (payload.n == 0 && !restore->is_last) {
        send_next_chunk(restore);
    } else if (json_decode_lenient(&arena, payload, &reply, &err) < 0) {
        fail_restore(restore, &err);
    } else if (nats_js_read_error(&reply, &refused)) {
        end_restore(restore, &refused);
    } else if (restore->is_last) {
        end_restore(restore, NULL);
    } else {
        err_set(&err, ERR_INVALID, "the server ended the copy before all of it was sent");
        fail_restore(restore, &err);
    }
}

static void on_chunk_acked(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    if (error)
        end_restore(self, error);
    else
        judge_answer(self, msg->payload);
}

static void send_next_chunk(struct stream_restore *restore)
{
    struct nats_pub pub = { .subject = str_from(restore->subject) };
    struct err err;

    if (restore->source.next(restore->source.self, &pub.payload, &err) < 0) {
        fail_restore(restore, &err);
        return;
    }
    restore->is_last = pub.payload.n == 0;
    if (nats_request(restore->js.conn, &pub,
                     restore->is_last ? NATS_SNAPSHOT_SETTLE_NS : NATS_SNAPSHOT_IDLE_NS,
                     on_chunk_acked, restore, NULL, &err) < 0)
        fail_restore(restore, &err);
}

static void on_restore_answer(void *self, const struct nats_error *error, const struct value *reply)
{
    struct stream_restore *restore = self;
    const char *subject = error ? NULL : value_get_text(reply, "deliver_subject");
    struct err err;

    if (error) {
        end_restore(restore, error);
    } else if (!subject) {
        err_set(&err, ERR_INVALID, "the server does not say where to send the copy");
        fail_restore(restore, &err);
    } else {
        restore->subject = arena_strdup(&restore->arena, subject);
        send_next_chunk(restore);
    }
}

int nats_snapshot_restore(const struct nats_js *js, const struct nats_snapshot_source *source,
                          struct err *err)
{
    AUTO_BUF struct buf body = BUF_INIT(NATS_JS_BODY_MAX);
    struct arena arena = ARENA_INIT;
    struct stream_restore *restore = ARENA_NEW(&arena, struct stream_restore);

    *restore = (struct stream_restore){ .js = *js, .source = *source };
    restore->arena = arena;
    buf_printf(&body, "{\"config\":%.*s,\"state\":%.*s}", STR_ARG(source->config),
               STR_ARG(source->state));
    if (!body.full &&
        nats_js_call(js, arena_printf(&restore->arena, "STREAM.RESTORE.%s", source->stream),
                     buf_view(&body), on_restore_answer, restore, err) == 0)
        return 0;
    if (body.full)
        err_set(err, ERR_LIMIT, "the configuration of the stream is too large");
    arena = restore->arena;
    arena_done(&arena);
    return -1;
}
