/*
 * GET /jobs/{jid}/stream: streams the returns of a job, then its status.
 *
 * Returns arrive on the bus. They are also read from their bucket: at the start, for earlier ones;
 * at the end, since a job gets its status only when all returns are stored; and at intervals, for
 * those missed while disconnected.
 */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "fleet/view/answer.h"
#include "fleet/master/api/handlers.h"
#include "fleet/master/api/job_record.h"
#include "fleet/master/api/stream.h"
#include "fleet/nats/conn.h"
#include "fleet/wire/subject.h"

#define QUERY struct api_job_stream_query

/* clang-format off */
const struct param api_job_stream_query[] = {
    PARAM("results", BOOL, QUERY, results, "the results of each state or function; if false, only status, error and duration of each peel", .default_text = "true"),
    { 0 },
};
/* clang-format on */

/* The last return sent for a peel. */
enum sent_return { SENT_NOTHING, SENT_MADE_UP, SENT_REAL };

struct sent_peel {
    const char *peel;
    enum sent_return kind;
};

struct job_stream {
    struct api_stream stream;
    struct arena arena; /* the job stream is in it */
    struct master *master;
    struct api_call *call; /* NULL: it is answered */
    const char *jid;
    const char *keys;   /* keys of its returns */
    struct map by_peel; /* struct sent_peel */
    struct nats_sub *returns, *status;
    bool with_results;
    bool is_closed; /* freed when nothing is under way */
    unsigned pending;
    bool is_reading, is_due_again; /* reading the store; and again */
    bool has_ended;                /* `final` is the job */
    struct value final;
};

static void drop_stream(struct job_stream *job)
{
    struct arena arena = job->arena;

    if (job->is_closed && job->pending == 0)
        arena_done(&arena);
}

static void close_job_stream(struct job_stream *job)
{
    nats_sub_free(job->returns);
    nats_sub_free(job->status);
    job->returns = job->status = NULL;
    job->is_closed = true;
    drop_stream(job);
}

static void on_job_stream_closed(struct api_stream *stream)
{
    close_job_stream(container_of(stream, struct job_stream, stream));
}

/* Ends a pending read. False: the client is gone. */
static bool end_stream_read(struct job_stream *job)
{
    job->pending--;
    if (!job->is_closed)
        return true;
    drop_stream(job);
    return false;
}

/* Fails before the stream is open. */
static void fail_job_stream(struct job_stream *job, const char *text)
{
    api_fail_later(job->call, text);
    close_job_stream(job);
}

/* --- returns ------------------------------------------------------------------------ */

static void send_job_return(struct job_stream *job, struct str peel, struct str payload)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct sent_peel *sent = map_find(&job->by_peel, peel);
    struct fleet_answer answer;
    struct value v;

    if (!sent)
        return;
    answer = (struct fleet_answer){ .peel = sent->peel,
                                    .error = "",
                                    .has_come = sent->kind != SENT_NOTHING,
                                    .is_unreachable = sent->kind == SENT_MADE_UP };
    if (!fleet_answer_take(&answer, &arena, str_from(job->jid), payload))
        return;
    if (answer.is_unreachable || answer.is_overdue) {
        if (sent->kind == SENT_MADE_UP)
            return;
        sent->kind = SENT_MADE_UP;
    } else {
        sent->kind = SENT_REAL;
    }
    v = job->with_results ? fleet_answer_value(&arena, &answer, false)
                          : fleet_answer_summary(&arena, &answer);
    value_map_set(&arena, v.map, value_text("duration"), value_int(answer.duration));
    api_stream_send(&job->stream, "return", &v);
}

static void on_streamed_return(void *self, const struct nats_msg *msg)
{
    struct job_stream *job = self;
    enum subject_kind kind;
    struct subject_names names;

    if (!job->call && !job->is_closed && subject_parse(msg->subject, &kind, &names) &&
        kind == SUBJECT_JOB_RETURN)
        send_job_return(job, names.peel, msg->payload);
}

/* --- the store ---------------------------------------------------------------------- */

static void read_job_stream_store(struct job_stream *job);

static void send_job_end(struct job_stream *job)
{
    api_stream_send(&job->stream, "status", &job->final);
    api_stream_end(&job->stream);
}

static void finish_reading(struct job_stream *job)
{
    job->is_reading = false;
    if (job->has_ended)
        send_job_end(job);
    else if (job->is_due_again)
        read_job_stream_store(job);
}

static void on_streamed_stored_return(void *self, const struct nats_error *error,
                                      const struct nats_kv_entry *entry)
{
    struct job_stream *job = self;
    struct str peel;

    if (entry) {
        peel = entry->key;
        (void)str_cut(&peel, '.');
        if (!job->is_closed && entry->change == NATS_KV_PUT)
            send_job_return(job, peel, entry->value);
        return;
    }
    if (!end_stream_read(job))
        return;
    job->has_ended = job->has_ended && !error; /* else the next read finds it */
    finish_reading(job);
}

static struct value describe_job_end(struct arena *arena, const struct job *job)
{
    struct value_map *map = value_map_new(arena, 4);

    value_map_set(arena, map, value_text("jid"), value_text(arena_strdup(arena, job->jid)));
    value_map_set(arena, map, value_text("status"), value_text(job_status_name(job->status)));
    value_map_set(arena, map, value_text("return_count"), value_int(job->return_count));
    value_map_set(arena, map, value_text("success_count"), value_int(job->success_count));
    return value_map(map);
}

static void on_streamed_record(void *self, const struct nats_error *error,
                               const struct nats_kv_entry *entry)
{
    struct job_stream *job = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct nats_kv kv = api_bucket(job->master, STORE_JOB_RETURNS);
    struct job record;
    struct err err;

    if (!end_stream_read(job))
        return;
    if (!error && record_decode(&arena, &job_type, 1, entry->value, &record, &err) == 0 &&
        job_status_is_final(record.status)) {
        job->has_ended = true;
        job->final = describe_job_end(&job->arena, &record);
    }
    job->pending++;
    if (nats_kv_list(&kv, job->keys, on_streamed_stored_return, job, &err) == 0)
        return;
    job->pending--;
    job->has_ended = false;
    finish_reading(job);
}

/* Reads the record first: when the job has ended, all returns are stored. */
static void read_job_stream_store(struct job_stream *job)
{
    struct nats_kv kv = api_bucket(job->master, STORE_JOBS);
    struct err err;

    job->is_due_again = job->is_reading;
    if (job->is_reading)
        return;
    kv.indirect = true;
    job->is_reading = true;
    job->pending++;
    if (nats_kv_get(&kv, job->jid, on_streamed_record, job, &err) == 0)
        return;
    job->pending--;
    job->is_reading = false; /* until the next beat */
}

static void on_streamed_status(void *self, const struct nats_msg *msg)
{
    struct job_stream *job = self;

    (void)msg;
    if (!job->call && !job->is_closed)
        read_job_stream_store(job);
}

static void on_job_stream_beat(struct api_stream *stream)
{
    read_job_stream_store(container_of(stream, struct job_stream, stream));
}

/* --- begin -------------------------------------------------------------------------- */

static const struct api_stream_kind kind = { .beat = on_job_stream_beat,
                                             .closed = on_job_stream_closed };

/* Subscribed: no return is missed after this. */
static void on_job_stream_subscribed(void *self, const struct nats_error *error)
{
    struct job_stream *job = self;
    struct api_call *call = job->call;

    job->pending--;
    if (error) {
        fail_job_stream(job, error->text);
        return;
    }
    job->call = NULL;
    if (api_stream_open(&job->stream, call, &kind))
        read_job_stream_store(job);
    else
        close_job_stream(job);
}

static struct nats_sub *subscribe_job_stream(struct job_stream *job, enum subject_kind subject,
                                             nats_msg_fn *message, struct err *err)
{
    AUTO_BUF struct buf pattern = BUF_INIT(SUBJECT_MAX);

    if (subject_print_pattern(&pattern, subject,
                              &(struct subject_names){ .jid = str_from(job->jid) }, err) < 0)
        return NULL;
    return nats_sub_new(job->master->js.conn,
                        &(struct nats_sub_options){
                            .subject = buf_text(&pattern), .message = message, .self = job },
                        err);
}

static struct job_stream *new_stream(struct api_call *call, const struct job *record)
{
    const QUERY *query = call->query;
    struct arena arena = ARENA_INIT;
    struct job_stream *job = ARENA_NEW(&arena, struct job_stream);
    struct sent_peel *sent = ARENA_ARRAY(&arena, struct sent_peel, record->targets.n + 1);

    job->arena = arena;
    job->master = call->master;
    job->call = call;
    job->jid = arena_strdup(&job->arena, record->jid);
    job->keys = arena_printf(&job->arena, "%s.*", record->jid);
    job->with_results = query->results;
    job->by_peel = (struct map)MAP_INIT_IN(&job->arena);
    for (size_t i = 0; i < record->targets.n; i++) {
        sent[i].peel = arena_strdup(&job->arena, record->targets.p[i]);
        (void)map_set(&job->by_peel, str_from(sent[i].peel), &sent[i]);
    }
    return job;
}

static void begin_stream(struct api_call *call, const struct job *record)
{
    struct job_stream *job = new_stream(call, record);
    struct err err;

    job->returns = subscribe_job_stream(job, SUBJECT_JOB_RETURN, on_streamed_return, &err);
    job->status = job->returns
                      ? subscribe_job_stream(job, SUBJECT_JOB_STATUS, on_streamed_status, &err)
                      : NULL;
    job->pending++;
    if (job->status && nats_flush(job->master->js.conn, on_job_stream_subscribed, job, &err) == 0)
        return;
    job->pending--;
    fail_job_stream(job, err.text);
}

void api_stream_job(struct api_call *call)
{
    if (api_stream_has_room(call))
        api_job_read(call, begin_stream);
}
