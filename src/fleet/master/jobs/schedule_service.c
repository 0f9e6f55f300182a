/*
 * The service "sched-consumer": what the schedules of peels have run is on record as a job.
 *
 * All masters share a consumer of these results. Each becomes a job that has ended, with the peel
 * as its one target, and the peel's return. The record is created first: it says whose the id is,
 * so that a peel cannot add a return to the job of somebody else. A master that is interrupted
 * between the two leaves the result to the next one, which finds the record and adds the return.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/rate.h"
#include "fleet/bus/store.h"
#include "fleet/master/jobs/dispatcher.h"
#include "fleet/master/services.h"
#include "fleet/nats/ack.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/puller.h"
#include "core/sys/clock.h"
#include "fleet/wire/event.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"
#include "fleet/wire/subject.h"

#define BATCH        16
#define TRY_AGAIN_NS (10 * CLOCK_SECOND)
/* Of one peel: what it ran while it had no connection, and then five a second. */
#define RESULTS_BURST      5000
#define RESULTS_PER_MINUTE 300

struct schedule_service {
    struct master *master;
    struct nats_puller *puller;
    struct rate rate;
};

/* One result. */
struct note {
    struct schedule_service *schedule_service;
    struct arena arena;
    struct str reply;
    const char *jid, *peel;
    struct str job, ret; /* the records, as bytes: the values take many times as much */
};

static void *open_schedule_service(struct master *master, struct err *err)
{
    struct schedule_service *schedule_service = mem_zalloc(sizeof(*schedule_service));

    (void)err;
    schedule_service->master = master;
    rate_init(&schedule_service->rate, RESULTS_BURST, RESULTS_PER_MINUTE);
    return schedule_service;
}

static struct nats_kv get_schedule_bucket(const struct note *note, enum store_bucket bucket)
{
    return (struct nats_kv){ .js = note->schedule_service->master->js,
                             .bucket = store_bucket_name(bucket),
                             .indirect = true };
}

/* --- the end of a note -------------------------------------------------------------- */

static void end_note(struct note *note, bool try_again)
{
    struct schedule_service *schedule_service = note->schedule_service;
    struct err err;

    if (schedule_service->puller) {
        if (try_again)
            (void)nats_nak(schedule_service->master->js.conn, note->reply, TRY_AGAIN_NS, &err);
        else
            (void)nats_ack(schedule_service->master->js.conn, note->reply, &err);
        nats_puller_done(schedule_service->puller, 1);
    }
    arena_done(&note->arena);
    free(note);
}

static void drop_note(struct note *note, const char *reason)
{
    log_debug("result of a schedule dropped reason=%s jid=%s peel=%s", reason,
              note->jid ? note->jid : "", note->peel ? note->peel : "");
    metrics_add(note->schedule_service->master->metrics, MASTER_JOB_DROPPED, 1, reason, NULL);
    end_note(note, false);
}

/* --- storing ------------------------------------------------------------------------ */

static void on_scheduled_return_stored(void *self, const struct nats_error *error,
                                       uint64_t revision)
{
    (void)revision;
    end_note(self, error && error->fault != NATS_FAULT_CONFLICT);
}

static void store_scheduled_return(struct note *note)
{
    const struct nats_kv kv = get_schedule_bucket(note, STORE_JOB_RETURNS);
    const char *key = arena_printf(&note->arena, "%s.%s", note->jid, note->peel);
    struct err err;

    if (nats_kv_create(&kv, key, note->ret, on_scheduled_return_stored, note, &err) < 0)
        end_note(note, true);
}

static bool is_scheduled_job_ours(const struct note *note, const struct job *job)
{
    const char *source = value_get_text(&job->metadata, JOB_SOURCE);

    return source && strcmp(source, JOB_SOURCE_SCHEDULE) == 0 && job->targets.n == 1 &&
           strcmp(job->targets.p[0], note->peel) == 0;
}

/* There is a record of that id: of an earlier try, or of another job. */
static void on_scheduled_record(void *self, const struct nats_error *error,
                                const struct nats_kv_entry *entry)
{
    struct note *note = self;
    struct job job;
    struct err err;

    if (error)
        end_note(note, true);
    else if (record_decode(&note->arena, &job_type, 1, arena_str(&note->arena, entry->value), &job,
                           &err) < 0 ||
             !is_scheduled_job_ours(note, &job))
        drop_note(note, dispatcher_drop_name(DISPATCHER_STRANGER));
    else
        store_scheduled_return(note);
}

static void on_job_stored(void *self, const struct nats_error *error, uint64_t revision)
{
    struct note *note = self;
    const struct nats_kv kv = get_schedule_bucket(note, STORE_JOBS);
    struct err err;

    (void)revision;
    if (!error)
        store_scheduled_return(note);
    else if (error->fault != NATS_FAULT_CONFLICT ||
             nats_kv_get(&kv, note->jid, on_scheduled_record, note, &err) < 0)
        end_note(note, true);
}

static void store_job(struct note *note)
{
    const struct nats_kv kv = get_schedule_bucket(note, STORE_JOBS);
    struct err err;

    if (nats_kv_create(&kv, note->jid, note->job, on_job_stored, note, &err) < 0)
        end_note(note, true);
}

/* --- the records -------------------------------------------------------------------- */

static bool is_scheduled_success(const struct job_scheduled *result)
{
    return result->success && result->error[0] == '\0';
}

static struct value make_metadata(struct arena *arena, const struct job_scheduled *result)
{
    struct value map = value_map(value_map_new(arena, 2));

    value_map_set(arena, map.map, value_text(JOB_SOURCE), value_text(JOB_SOURCE_SCHEDULE));
    value_map_set(arena, map.map, value_text("entry"), value_text(result->entry));
    return map;
}

static struct value_time find_start(const struct job_scheduled *result)
{
    const int64_t at =
        result->timestamp.seconds * CLOCK_SECOND + result->timestamp.nanoseconds - result->duration;

    return (struct value_time){ at / CLOCK_SECOND, (uint32_t)(at % CLOCK_SECOND) };
}

static int print_scheduled_job(struct note *note, struct arena *scratch,
                               const struct job_scheduled *result, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const struct job job = {
        .jid = note->jid,
        .function = result->module,
        .args = result->args,
        .targets = { 1, &note->peel },
        .status = is_scheduled_success(result) ? JOB_COMPLETE : JOB_FAILED,
        .created = find_start(result),
        .updated = result->timestamp,
        .user = arena_printf(scratch, "schedule:%s", result->entry),
        .owner = note->schedule_service->master->id,
        .state_id = "",
        .target_expr = note->peel,
        .return_count = 1,
        .success_count = is_scheduled_success(result),
        .v = EXEC_PROTOCOL,
        .metadata = make_metadata(scratch, result),
    };

    if (record_encode(&bytes, &job_type, &job, err) < 0)
        return -1;
    note->job = buf_copy(&bytes, &note->arena);
    return 0;
}

static int print_return(struct note *note, const struct job_scheduled *result, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const struct exec_return ret = { .jid = note->jid,
                                     .peel_id = note->peel,
                                     .success = result->success,
                                     .return_data = result->return_data,
                                     .error = result->error,
                                     .duration = result->duration,
                                     .timestamp = result->timestamp };

    if (record_encode(&bytes, &exec_return_type, &ret, err) < 0)
        return -1;
    note->ret = buf_copy(&bytes, &note->arena);
    return 0;
}

/* --- results ------------------------------------------------------------------------ */

/* The id of a reaction, a step or a revert follows from what a peel may know: once a peel has taken
 * it, there is no such job. Masters' own entries begin with '_'. */
static bool is_of_masters(struct str jid)
{
    return str_starts(jid, STR(EVENT_JOB_PREFIX)) || str_starts(jid, STR("_"));
}

/* Who it is from is in the subject. A peel whose clock is wrong comes under the time at which the
 * stream got it. */
static const char *read_scheduled_return(struct note *note, const struct nats_msg *msg)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct job_scheduled result;
    struct nats_delivery delivery;
    enum subject_kind kind;
    struct subject_names names;
    struct err err;

    if (!nats_delivery_parse(note->reply, &delivery) ||
        !subject_parse(msg->subject, &kind, &names) || kind != SUBJECT_JOB_SCHEDULE ||
        names.jid.n > JOB_ID_MAX)
        return dispatcher_drop_name(DISPATCHER_MALFORMED);
    note->jid = arena_str(&note->arena, names.jid).p;
    note->peel = arena_str(&note->arena, names.peel).p;
    if (rate_take(&note->schedule_service->rate, names.peel, clock_now()) > 0)
        return "ratelimit";
    if (record_decode(&scratch, &job_scheduled_type, 1, msg->payload, &result, &err) < 0 ||
        result.module[0] == '\0')
        return dispatcher_drop_name(DISPATCHER_MALFORMED);
    if (strcmp(result.jid, note->jid) != 0 || is_of_masters(names.jid))
        return dispatcher_drop_name(DISPATCHER_SPOOF);
    if (result.timestamp.seconds > delivery.time / CLOCK_SECOND)
        result.timestamp = (struct value_time){ delivery.time / CLOCK_SECOND,
                                                (uint32_t)(delivery.time % CLOCK_SECOND) };
    if (result.duration < 0 || result.timestamp.seconds < 0 ||
        result.duration / CLOCK_SECOND > result.timestamp.seconds ||
        print_scheduled_job(note, &scratch, &result, &err) < 0 ||
        print_return(note, &result, &err) < 0)
        return dispatcher_drop_name(DISPATCHER_MALFORMED);
    return NULL;
}

static void on_scheduled_return(void *self, const struct nats_msg *msg)
{
    struct schedule_service *schedule_service = self;
    struct note *note = mem_zalloc(sizeof(*note));
    const char *reason;

    note->schedule_service = schedule_service;
    note->reply = arena_str(&note->arena, msg->reply);
    reason = read_scheduled_return(note, msg);
    if (reason)
        drop_note(note, reason);
    else
        store_job(note);
}

/* --- life --------------------------------------------------------------------------- */

static void on_schedule_trouble(void *self, const struct nats_error *error)
{
    (void)self;
    if (error->fault != NATS_FAULT_CANCELED && error->fault != NATS_FAULT_DISCONNECTED)
        log_warning("results of schedules: %s", error->text);
}

static int start_schedule_service(void *self, struct err *err)
{
    struct schedule_service *schedule_service = self;

    schedule_service->puller =
        nats_puller_new(&schedule_service->master->js,
                        &(struct nats_puller_options){ .stream = STORE_JOB_EVENTS,
                                                       .consumer = STORE_SCHEDULE,
                                                       .batch = BATCH,
                                                       .message = on_scheduled_return,
                                                       .trouble = on_schedule_trouble,
                                                       .failed = on_schedule_trouble,
                                                       .self = schedule_service },
                        err);
    return schedule_service->puller ? 0 : -1;
}

static void stop_schedule_service(void *self)
{
    struct schedule_service *schedule_service = self;

    nats_puller_free(schedule_service->puller);
    schedule_service->puller = NULL;
}

static void free_schedule_service(void *self)
{
    struct schedule_service *schedule_service = self;

    rate_done(&schedule_service->rate);
    free(schedule_service);
}

const struct master_service master_schedule_service = {
    .name = "sched-consumer",
    .open = open_schedule_service,
    .start = start_schedule_service,
    .stop = stop_schedule_service,
    .free = free_schedule_service,
};
