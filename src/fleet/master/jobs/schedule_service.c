/*
 * The service "sched-consumer": records scheduled runs of peels as jobs.
 *
 * All masters share a consumer of these results. Each becomes an ended job with one target, the
 * peel, and its return. The record is created first: it fixes the owner of the id, so that a peel
 * cannot add a return to a foreign job. If a master dies between the two, the next one finds the
 * record and adds the return.
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
/* Limit per peel: runs from while it was disconnected, then five a second. */
#define RESULTS_BURST      5000
#define RESULTS_PER_MINUTE 300

struct schedule_service {
    struct master *master;
    struct nats_puller *puller;
    struct rate rate;
};

/* A scheduled run. */
struct scheduled_run {
    struct schedule_service *service;
    struct arena arena;
    struct str reply;
    const char *jid, *peel;
    struct str job, ret; /* encoded records: decoded ones are many times larger */
};

static void *open_schedule_service(struct master *master, struct err *err)
{
    struct schedule_service *service = mem_zalloc(sizeof(*service));

    (void)err;
    service->master = master;
    rate_init(&service->rate, RESULTS_BURST, RESULTS_PER_MINUTE);
    return service;
}

static struct nats_kv get_schedule_bucket(const struct scheduled_run *run, enum store_bucket bucket)
{
    return (struct nats_kv){ .js = run->service->master->js,
                             .bucket = store_bucket_name(bucket),
                             .indirect = true };
}

/* --- the end of a run --------------------------------------------------------------- */

static void end_scheduled_run(struct scheduled_run *run, bool try_again)
{
    struct schedule_service *service = run->service;
    struct err err;

    if (service->puller) {
        if (try_again)
            (void)nats_nak(service->master->js.conn, run->reply, TRY_AGAIN_NS, &err);
        else
            (void)nats_ack(service->master->js.conn, run->reply, &err);
        nats_puller_done(service->puller, 1);
    }
    arena_done(&run->arena);
    free(run);
}

static void drop_scheduled_run(struct scheduled_run *run, const char *reason)
{
    log_debug("result of a schedule dropped reason=%s jid=%s peel=%s", reason,
              run->jid ? run->jid : "", run->peel ? run->peel : "");
    metrics_add(run->service->master->metrics, MASTER_JOB_DROPPED, 1, reason, NULL);
    end_scheduled_run(run, false);
}

/* --- storing ------------------------------------------------------------------------ */

static void on_scheduled_return_stored(void *self, const struct nats_error *error,
                                       uint64_t revision)
{
    (void)revision;
    end_scheduled_run(self, error && error->fault != NATS_FAULT_CONFLICT);
}

static void store_scheduled_return(struct scheduled_run *run)
{
    const struct nats_kv kv = get_schedule_bucket(run, STORE_JOB_RETURNS);
    const char *key = arena_printf(&run->arena, "%s.%s", run->jid, run->peel);
    struct err err;

    if (nats_kv_create(&kv, key, run->ret, on_scheduled_return_stored, run, &err) < 0)
        end_scheduled_run(run, true);
}

static bool is_scheduled_job_ours(const struct scheduled_run *run, const struct job *job)
{
    const char *source = value_get_text(&job->metadata, JOB_SOURCE);

    return source && strcmp(source, JOB_SOURCE_SCHEDULE) == 0 && job->targets.n == 1 &&
           strcmp(job->targets.p[0], run->peel) == 0;
}

/* The record exists: from an earlier attempt, or of another job. */
static void on_scheduled_record(void *self, const struct nats_error *error,
                                const struct nats_kv_entry *entry)
{
    struct scheduled_run *run = self;
    struct job job;
    struct err err;

    if (error)
        end_scheduled_run(run, true);
    else if (record_decode(&run->arena, &job_type, 1, arena_str(&run->arena, entry->value), &job,
                           &err) < 0 ||
             !is_scheduled_job_ours(run, &job))
        drop_scheduled_run(run, dispatcher_drop_name(DISPATCHER_STRANGER));
    else
        store_scheduled_return(run);
}

static void on_job_stored(void *self, const struct nats_error *error, uint64_t revision)
{
    struct scheduled_run *run = self;
    const struct nats_kv kv = get_schedule_bucket(run, STORE_JOBS);
    struct err err;

    (void)revision;
    if (!error)
        store_scheduled_return(run);
    else if (error->fault != NATS_FAULT_CONFLICT ||
             nats_kv_get(&kv, run->jid, on_scheduled_record, run, &err) < 0)
        end_scheduled_run(run, true);
}

static void store_job(struct scheduled_run *run)
{
    const struct nats_kv kv = get_schedule_bucket(run, STORE_JOBS);
    struct err err;

    if (nats_kv_create(&kv, run->jid, run->job, on_job_stored, run, &err) < 0)
        end_scheduled_run(run, true);
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

static int print_scheduled_job(struct scheduled_run *run, struct arena *scratch,
                               const struct job_scheduled *result, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const struct job job = {
        .jid = run->jid,
        .function = result->module,
        .args = result->args,
        .targets = { 1, &run->peel },
        .status = is_scheduled_success(result) ? JOB_COMPLETE : JOB_FAILED,
        .created = find_start(result),
        .updated = result->timestamp,
        .user = arena_printf(scratch, "schedule:%s", result->entry),
        .owner = run->service->master->id,
        .state_id = "",
        .target_expr = run->peel,
        .return_count = 1,
        .success_count = is_scheduled_success(result),
        .v = EXEC_PROTOCOL,
        .metadata = make_metadata(scratch, result),
    };

    if (record_encode(&bytes, &job_type, &job, err) < 0)
        return -1;
    run->job = buf_copy(&bytes, &run->arena);
    return 0;
}

static int print_return(struct scheduled_run *run, const struct job_scheduled *result,
                        struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const struct exec_return ret = { .jid = run->jid,
                                     .peel_id = run->peel,
                                     .success = result->success,
                                     .return_data = result->return_data,
                                     .error = result->error,
                                     .duration = result->duration,
                                     .timestamp = result->timestamp };

    if (record_encode(&bytes, &exec_return_type, &ret, err) < 0)
        return -1;
    run->ret = buf_copy(&bytes, &run->arena);
    return 0;
}

/* --- results ------------------------------------------------------------------------ */

/* A peel can predict the ids of reactions, steps and reverts: if it took one, that job could not
 * exist. Masters' own entries begin with '_'. */
static bool is_of_masters(struct str jid)
{
    return str_starts(jid, STR(EVENT_JOB_PREFIX)) || str_starts(jid, STR("_"));
}

/* The sender is in the subject. A result from a peel with a wrong clock is filed under the stream's
 * time. */
static const char *read_scheduled_return(struct scheduled_run *run, const struct nats_msg *msg)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct job_scheduled result;
    struct nats_delivery delivery;
    enum subject_kind kind;
    struct subject_names names;
    struct err err;

    if (!nats_delivery_parse(run->reply, &delivery) ||
        !subject_parse(msg->subject, &kind, &names) || kind != SUBJECT_JOB_SCHEDULE ||
        names.jid.n > JOB_ID_MAX)
        return dispatcher_drop_name(DISPATCHER_MALFORMED);
    run->jid = arena_str(&run->arena, names.jid).p;
    run->peel = arena_str(&run->arena, names.peel).p;
    if (rate_take(&run->service->rate, names.peel, clock_now()) > 0)
        return "ratelimit";
    if (record_decode(&scratch, &job_scheduled_type, 1, msg->payload, &result, &err) < 0 ||
        result.module[0] == '\0')
        return dispatcher_drop_name(DISPATCHER_MALFORMED);
    if (strcmp(result.jid, run->jid) != 0 || is_of_masters(names.jid))
        return dispatcher_drop_name(DISPATCHER_SPOOF);
    if (result.timestamp.seconds > delivery.time / CLOCK_SECOND)
        result.timestamp = (struct value_time){ delivery.time / CLOCK_SECOND,
                                                (uint32_t)(delivery.time % CLOCK_SECOND) };
    if (result.duration < 0 || result.timestamp.seconds < 0 ||
        result.duration / CLOCK_SECOND > result.timestamp.seconds ||
        print_scheduled_job(run, &scratch, &result, &err) < 0 ||
        print_return(run, &result, &err) < 0)
        return dispatcher_drop_name(DISPATCHER_MALFORMED);
    return NULL;
}

static void on_scheduled_return(void *self, const struct nats_msg *msg)
{
    struct schedule_service *service = self;
    struct scheduled_run *run = mem_zalloc(sizeof(*run));
    const char *reason;

    run->service = service;
    run->reply = arena_str(&run->arena, msg->reply);
    reason = read_scheduled_return(run, msg);
    if (reason)
        drop_scheduled_run(run, reason);
    else
        store_job(run);
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
    struct schedule_service *service = self;

    service->puller = nats_puller_new(&service->master->js,
                                      &(struct nats_puller_options){ .stream = STORE_JOB_EVENTS,
                                                                     .consumer = STORE_SCHEDULE,
                                                                     .batch = BATCH,
                                                                     .message = on_scheduled_return,
                                                                     .trouble = on_schedule_trouble,
                                                                     .failed = on_schedule_trouble,
                                                                     .self = service },
                                      err);
    return service->puller ? 0 : -1;
}

static void stop_schedule_service(void *self)
{
    struct schedule_service *service = self;

    nats_puller_free(service->puller);
    service->puller = NULL;
}

static void free_schedule_service(void *self)
{
    struct schedule_service *service = self;

    rate_done(&service->rate);
    free(service);
}

const struct master_service master_schedule_service = {
    .name = "sched-consumer",
    .open = open_schedule_service,
    .start = start_schedule_service,
    .stop = stop_schedule_service,
    .free = free_schedule_service,
};
