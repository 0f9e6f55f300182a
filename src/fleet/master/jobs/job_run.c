#include "fleet/master/jobs/job_run.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/nkey.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/signature.h"
#include "fleet/wire/subject.h"

/* Retry interval for a failed write. */
#define RETRY_NS (CLOCK_SECOND / 2)
/* Time for late returns after the end. */
#define LINGER_NS (2 * CLOCK_SECOND)

/* --- life --------------------------------------------------------------------------- */

void job_run_copy(struct arena *arena, const struct job *from, struct job *to)
{
    struct value v = record_value(arena, &job_type, from);
    struct err err;

    v = value_copy(arena, &v);
    if (record_read(arena, &job_type, 1, &v, to, &err) < 0)
        *to = *from; /* our own encoding is readable */
}

struct job_run *job_run_new(struct dispatcher *dispatcher, const struct job *job)
{
    struct job_run *run = mem_zalloc(sizeof(*run));

    run->dispatcher = dispatcher;
    run->request.max = BUF_NO_LIMIT;
    run->newer.arena = &run->arena;
    job_run_copy(&run->arena, job, &run->job);
    run->began = clock_now();
    run->doubts = dispatcher->doubts;
    (void)map_set(&dispatcher->runs, str_from(run->job.jid), run);
    return run;
}

struct timers *job_run_timers(const struct job_run *run)
{
    return loop_timers(nats_conn_loop(run->dispatcher->options.js.conn));
}

void job_run_arm(struct job_run *run, int64_t deadline, timer_fn *fn)
{
    timer_set(job_run_timers(run), &run->timer, deadline, fn);
}

void job_run_disarm(struct job_run *run)
{
    timer_clear(job_run_timers(run), &run->timer);
}

static void free_run(struct job_run *run)
{
    job_counts_orders_done(&run->orders);
    job_counts_free(run->job_counts);
    buf_done(&run->request);
    arena_done(&run->arena);
    free(run);
}

void job_run_answer(struct job_run *run, enum dispatch_outcome outcome, const char *text)
{
    dispatcher_fn *fn = run->fn;

    run->fn = NULL;
    if (fn)
        fn(run->self, outcome, text);
}

void job_run_end_own(struct job_run *run)
{
    if (job_is_orchestration(&run->job))
        run->dispatcher->options.end_own(run->dispatcher->options.self, run->job.jid);
}

void job_run_drop(struct job_run *run)
{
    if (run->step == JOB_RUN_GONE)
        return;
    run->step = JOB_RUN_GONE;
    timer_clear(job_run_timers(run), &run->timer);
    job_run_end_wave(run);
    nats_sub_free(run->acks);
    nats_sub_free(run->returns);
    job_run_end_replay(run);
    job_run_rescued(run);
    run->acks = run->returns = NULL;
    (void)map_remove(&run->dispatcher->runs, str_from(run->job.jid));
    job_run_end_own(run);
    job_run_answer(run, DISPATCH_FAILED, "this master is shutting down");
    if (run->pending == 0)
        free_run(run);
}

/* A call has ended. False: the run is gone. */
bool job_run_came_back(struct job_run *run)
{
    run->pending--;
    if (run->step != JOB_RUN_GONE)
        return true;
    if (run->pending == 0)
        free_run(run);
    return false;
}

/* --- signatures --------------------------------------------------------------------- */

const struct nats_nkey *job_run_signer(const struct job_run *run)
{
    const struct dispatcher_options *options = &run->dispatcher->options;

    return options->signer ? options->signer(options->self) : NULL;
}

void job_run_sign(struct job_run *run, struct job *job)
{
    AUTO_BUF struct buf text = BUF_INIT(SIGNATURE_LINE_MAX);
    const struct nats_nkey *signer = job_run_signer(run);
    struct ed25519_pair pair;

    job->signature = "";
    if (!signer)
        return;
    pair = nats_nkey_pair(signer);
    signature_sign_job(&pair, job, &text);
    job->signature = buf_copy(&text, &run->arena).p;
}

/* --- records ------------------------------------------------------------------------ */

/* Reads from the leader, to see the latest writes. */
struct nats_kv job_run_bucket(const struct job_run *run, enum store_bucket bucket)
{
    return (struct nats_kv){ .js = run->dispatcher->options.js,
                             .bucket = store_bucket_name(bucket),
                             .indirect = true };
}

struct value_time job_run_time(void)
{
    int64_t wall = bus_time();

    return (struct value_time){ wall / CLOCK_SECOND, (uint32_t)(wall % CLOCK_SECOND) };
}

struct str job_run_encode(struct arena *arena, const struct record_type *type, const void *record)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    (void)record_encode(&bytes, type, record, &err);
    return buf_copy(&bytes, arena);
}

const char *job_run_active_key(struct arena *arena, const char *jid)
{
    return arena_printf(arena, "active.%s", jid);
}

struct str job_run_subject(struct arena *arena, enum subject_kind kind, const char *jid,
                           const char *peel)
{
    AUTO_BUF struct buf text = BUF_INIT(SUBJECT_MAX);
    struct err err;

    (void)subject_print_pattern(
        &text, kind,
        &(struct subject_names){ .jid = str_from(jid), .peel = peel ? str_from(peel) : STR("") },
        &err);
    return buf_copy(&text, arena);
}

static void on_job_event_stored(void *self, const struct nats_error *error,
                                const struct nats_stored_ack *ack)
{
    (void)self;
    (void)ack;
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_warning("an event of a job could not be stored: %s", error->text);
}

void job_run_publish(struct job_run *run, enum subject_kind subject, enum job_event_kind kind,
                     struct value data)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct job_event event = {
        .jid = run->job.jid, .type = kind, .peel_id = "", .data = data, .timestamp = job_run_time()
    };
    struct nats_store store = {
        .subject = job_run_subject(&arena, subject, run->job.jid, NULL),
        .payload = job_run_encode(&arena, &job_event_type, &event),
    };
    struct err err;

    if (nats_publisher_send(run->dispatcher->publisher, &store, on_job_event_stored, NULL, &err) <
        0)
        log_warning("an event of job %s could not be stored: %s", run->job.jid, err.text);
}

/* --- the end ------------------------------------------------------------------------ */

static void on_retry_end(struct timer *timer)
{
    job_run_end(container_of(timer, struct job_run, timer));
}

static void on_lingered(struct timer *timer)
{
    struct job_run *run = container_of(timer, struct job_run, timer);

    if (run->corrected || run->writes)
        job_run_arm(run, clock_after(clock_now(), LINGER_NS), on_lingered);
    else
        job_run_drop(run);
}

static void on_active_deleted(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)error; /* the scan removes the entry of an ended job */
    (void)revision;
    (void)job_run_came_back(self);
}

static void announce_end(struct job_run *run)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct nats_kv kv = job_run_bucket(run, STORE_JOBS);
    struct value_map *data = value_map_new(&run->arena, 2);
    struct err err;

    value_map_set(&run->arena, data, value_text("status"),
                  value_text(job_status_name(run->job.status)));
    value_map_set(&run->arena, data, value_text("returns"), value_int(run->job.return_count));
    job_run_publish(run, SUBJECT_JOB_STATUS, JOB_EVENT_COMPLETED, value_map(data));
    if (nats_kv_purge(&kv, job_run_active_key(&arena, run->job.jid), 0, on_active_deleted, run,
                      &err) == 0)
        run->pending++;
    log_info("job %s %s: %d of %zu returned, %d succeeded", run->job.jid,
             job_status_name(run->job.status), run->job.return_count, run->job.targets.n,
             run->job.success_count);
    run->dispatcher->counts.ended[run->job.status]++;
    if (run->dispatcher->options.on_end)
        run->dispatcher->options.on_end(run->dispatcher->options.self, &run->job,
                                        (double)(clock_now() - run->began) / (double)CLOCK_SECOND);
}

void job_run_leave(struct job_run *run)
{
    log_info("job %s: taken over by another master", run->job.jid);
    job_run_drop(run);
}

static void retry_end(struct job_run *run)
{
    run->tries++;
    job_run_arm(run, clock_after(clock_now(), RETRY_NS), on_retry_end);
}

static void note_end(struct job_run *run, uint64_t revision)
{
    bool first = run->step == JOB_RUN_ENDING;

    run->revision = revision;
    run->tries = 0;
    run->step = JOB_RUN_LINGERING;
    job_run_rescued(run);
    if (first)
        announce_end(run);
    job_run_arm(run, clock_after(clock_now(), LINGER_NS), on_lingered);
    if (run->corrected && run->writes == 0)
        job_run_end(run);
}

/* A client without write permission has made a server overwrite the record
 * (docs/explanation/security.md, "If a machine is hostile"): restore it from memory. */
static void restore_record(struct job_run *run, uint64_t revision)
{
    log_warning("job %s: restored its overwritten record", run->job.jid);
    run->revision = revision;
    retry_end(run);
}

static bool read_run_record(const struct job_run *run, struct arena *arena, struct str value,
                            struct job *ret)
{
    struct err err;

    return record_decode(arena, &job_type, 1, value, ret, &err) == 0 &&
           strcmp(ret->jid, run->job.jid) == 0;
}

/* The record differs: our own write, whose answer got lost, or another master's. */
static void on_end_read(void *self, const struct nats_error *error,
                        const struct nats_kv_entry *entry)
{
    struct job_run *run = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job stored;

    run->is_writing = false;
    if (!job_run_came_back(run))
        return;
    if (error && error->fault != NATS_FAULT_NOT_FOUND)
        retry_end(run);
    else if (!error && !read_run_record(run, &arena, entry->value, &stored))
        restore_record(run, entry->revision);
    else if (!error && stored.status == run->job.status &&
             strcmp(stored.owner, run->job.owner) == 0)
        note_end(run, entry->revision);
    else
        job_run_leave(run);
}

static void read_job_end(struct job_run *run)
{
    const struct nats_kv kv = job_run_bucket(run, STORE_JOBS);
    struct err err;

    if (nats_kv_get(&kv, run->job.jid, on_end_read, run, &err) < 0) {
        retry_end(run);
        return;
    }
    run->pending++;
    run->is_writing = true;
}

static void on_job_end_written(void *self, const struct nats_error *error, uint64_t revision)
{
    struct job_run *run = self;

    run->is_writing = false;
    if (!job_run_came_back(run))
        return;
    if (!error)
        note_end(run, revision);
    else if (error->fault != NATS_FAULT_CONFLICT)
        retry_end(run);
    else
        read_job_end(run);
}

void job_run_end(struct job_run *run)
{
    const struct nats_kv kv = job_run_bucket(run, STORE_JOBS);
    const struct job_counts_counts counts = job_counts_counts(run->job_counts);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err;

    if (run->is_writing || !job_run_has_settled(run)) /* it is written again after that */
        return;
    run->corrected = false;
    run->job.return_count = (int32_t)counts.returned;
    run->job.success_count = (int32_t)counts.succeeded;
    run->job.updated = job_run_time();
    if (nats_kv_update(&kv, run->job.jid, job_run_encode(&arena, &job_type, &run->job),
                       run->revision, on_job_end_written, run, &err) < 0) {
        job_run_arm(run, clock_after(clock_now(), RETRY_NS), on_retry_end);
        return;
    }
    run->pending++;
    run->is_writing = true;
}

/* A real return replaced a made-up one, or came after the deadline: the status may improve. */
void job_run_correct(struct job_run *run)
{
    run->dispatcher->counts.late++;
    run->corrected = true; /* written when the return is stored */
    run->job.status =
        job_counts_correct_status(run->job.status, job_counts_counts(run->job_counts));
}
