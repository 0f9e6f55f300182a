#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/jobs/claim.h"
#include "fleet/jobs/rollout.h"
#include "fleet/master/jobs/job_run.h"
#include "fleet/master/peels/roster.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/nkey.h"
#include "core/sys/clock.h"
#include "core/sys/crash_point.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/signature.h"
#include "fleet/wire/subject.h"

/* Retry interval for a failed write. */
#define RETRY_NS (CLOCK_SECOND / 2)
/* Attempts for a claim with a waiting caller. */
#define TRIES_MAX 10
#define UNSIGNED  "its record is not signed by a master, and this one signs requests"

/* --- the claim ---------------------------------------------------------------------- */

static void fail_claim(struct job_run *run, enum dispatch_outcome outcome, const char *text)
{
    job_run_answer(run, outcome, text);
    job_run_drop(run);
}

static void write_claim(struct job_run *run);
static void mark_running(struct job_run *run);
static void read_stored_job(struct job_run *run);
static void read_newer(struct job_run *run);

static void on_retry_claim(struct timer *timer)
{
    struct job_run *run = container_of(timer, struct job_run, timer);

    if (run->step == JOB_RUN_CLAIMING)
        read_stored_job(run);
    else if (run->step == JOB_RUN_MARKING)
        mark_running(run);
    else
        job_run_drop(run);
}

/* The bus did not answer: the write may have happened. */
static void retry_claim(struct job_run *run, const char *why)
{
    if (++run->tries >= TRIES_MAX) {
        log_error("job %s: %s", run->job.jid, why);
        fail_claim(run, DISPATCH_FAILED, why);
        return;
    }
    log_debug("job %s: %s; trying again", run->job.jid, why);
    job_run_arm(run, clock_after(clock_now(), RETRY_NS), on_retry_claim);
}

static void on_job_marked(void *self, const struct nats_error *error, uint64_t revision)
{
    struct job_run *run = self;

    if (!job_run_came_back(run))
        return;
    if (!error) {
        run->revision = revision;
        crash_point("job-running");
        job_run_publish(run, SUBJECT_JOB_DISPATCH, JOB_EVENT_DISPATCHED,
                        record_value(&run->arena, &job_type, &run->job));
        job_run_watch(run);
    } else if (error->fault == NATS_FAULT_CONFLICT && run->tries == 0) {
        fail_claim(run, DISPATCH_PENDING, "another master has taken the job over");
    } else if (error->fault == NATS_FAULT_CONFLICT) {
        /* an earlier attempt succeeded, or another master took it over: read it */
        run->step = JOB_RUN_CLAIMING;
        retry_claim(run, error->text);
    } else {
        retry_claim(run, error->text);
    }
}

static void mark_running(struct job_run *run)
{
    const struct nats_kv kv = job_run_bucket(run, STORE_JOBS);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err;

    run->step = JOB_RUN_MARKING;
    run->job.status = JOB_RUNNING;
    run->job.epoch = run->job.sent_epoch = run->epoch;
    run->job.updated = job_run_time();
    job_run_sign(run, &run->job);
    if (nats_kv_update(&kv, run->job.jid, job_run_encode(&arena, &job_type, &run->job),
                       run->revision, on_job_marked, run, &err) < 0)
        retry_claim(run, err.text);
    else
        run->pending++;
}

static void judge_stored(struct job_run *run, const struct job *stored, uint64_t revision)
{
    const struct dispatcher_options *options = &run->dispatcher->options;
    bool lives = roster_master_lives(options->roster, str_from(stored->owner));

    switch (claim_judge(&run->job, stored, options->master_id, lives)) {
    case CLAIM_RESUME:
        run->revision = revision;
        run->epoch = claim_epoch(stored, revision);
        mark_running(run);
        return;
    case CLAIM_TAKE:
        job_run_copy(&run->arena, stored, &run->job);
        job_run_take(run, revision);
        return;
    case CLAIM_PENDING:
        fail_claim(run, DISPATCH_PENDING, "another master has claimed the job");
        return;
    case CLAIM_DUPLICATE: fail_claim(run, DISPATCH_DUPLICATE, run->job.jid); return;
    case CLAIM_CONFLICT: fail_claim(run, DISPATCH_CONFLICT, "job id is already in use"); return;
    }
}

static void on_stored_read(void *self, const struct nats_error *error,
                           const struct nats_kv_entry *entry)
{
    struct job_run *run = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job stored;
    struct err err;

    if (!job_run_came_back(run))
        return;
    if (error && error->fault == NATS_FAULT_NOT_FOUND && !run->has_conflict)
        write_claim(run);
    else if (error)
        retry_claim(run, error->text);
    else if (record_decode(&arena, &job_type, 1, entry->value, &stored, &err) < 0)
        fail_claim(run, DISPATCH_CONFLICT, "the record of the job cannot be read");
    else if (stored.status == JOB_RUNNING && run->tries > 0 &&
             strcmp(stored.owner, run->dispatcher->options.master_id) == 0 &&
             claim_is_same(&run->job, &stored)) {
        /* our own write, whose answer was lost; after a takeover it may have been sent */
        run->revision = entry->revision;
        run->epoch = claim_epoch(&stored, entry->revision);
        job_run_copy(&run->arena, &stored, &run->job);
        read_newer(run);
    } else
        judge_stored(run, &stored, entry->revision);
}

static void read_stored_job(struct job_run *run)
{
    const struct nats_kv kv = job_run_bucket(run, STORE_JOBS);
    struct err err;

    if (nats_kv_get(&kv, run->job.jid, on_stored_read, run, &err) < 0)
        retry_claim(run, err.text);
    else
        run->pending++;
}

static void on_job_claimed(void *self, const struct nats_error *error, uint64_t revision)
{
    struct job_run *run = self;

    if (!job_run_came_back(run))
        return;
    if (!error) {
        run->revision = run->epoch = revision;
        crash_point("job-claimed");
        mark_running(run);
    } else if (error->fault == NATS_FAULT_CONFLICT) {
        run->has_conflict = true;
        read_stored_job(run);
    } else {
        retry_claim(run, error->text);
    }
}

static void on_active_written(void *self, const struct nats_error *error, uint64_t revision)
{
    struct job_run *run = self;

    (void)revision;
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_debug("job %s: entry of active jobs: %s", run->job.jid, error->text);
    (void)job_run_came_back(run);
}

/* Written before the record, on the same stream, so that every job can be found. */
static void write_active(struct job_run *run)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct nats_kv kv = job_run_bucket(run, STORE_JOBS);
    const struct job_active active = { .owner = run->dispatcher->options.master_id,
                                       .updated = job_run_time() };
    struct err err;

    if (nats_kv_put(&kv, job_run_active_key(&arena, run->job.jid),
                    job_run_encode(&arena, &job_active_type, &active), on_active_written, run,
                    &err) == 0)
        run->pending++;
}

static void write_claim(struct job_run *run)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct nats_kv kv = job_run_bucket(run, STORE_JOBS);
    struct job claimed = run->job;
    struct err err;

    claimed.status = JOB_CLAIMED;
    claimed.epoch = claimed.sent_epoch = 0; /* an earlier attempt may have set it running */
    job_run_sign(run, &claimed);
    write_active(run);
    if (nats_kv_create(&kv, run->job.jid, job_run_encode(&arena, &job_type, &claimed),
                       on_job_claimed, run, &err) < 0)
        retry_claim(run, err.text);
    else
        run->pending++;
}

static void note_offline(struct job_run *run)
{
    VEC(const char *) offline = VEC_INIT;

    for (size_t i = 0; i < run->job.targets.n && !job_is_orchestration(&run->job); i++)
        if (!roster_is_online(run->dispatcher->options.roster, str_from(run->job.targets.p[i])))
            VEC_PUSH_IN(&run->arena, &offline, run->job.targets.p[i]);
    run->job.offline_at_dispatch = (struct param_strs){ offline.n, offline.p };
}

void job_run_claim(struct job_run *run, bool is_again)
{
    int64_t wall = bus_time();
    struct err err;

    if (run->job.timeout <= 0)
        run->job.timeout = DISPATCHER_TIMEOUT_NS;
    wall = clock_after(wall, rollout_time(&run->job, run->job.timeout));
    run->job.owner = run->dispatcher->options.master_id;
    run->job.created = run->job.updated = job_run_time();
    run->job.deadline = (struct value_time){ wall / CLOCK_SECOND, (uint32_t)(wall % CLOCK_SECOND) };
    run->job.v = EXEC_PROTOCOL;
    note_offline(run);
    job_run_make_counts(run);
    if (job_run_subscribe(run, &err) < 0)
        fail_claim(run, DISPATCH_FAILED, err.text);
    else if (is_again)
        read_stored_job(run);
    else
        write_claim(run);
}

/* --- taking over -------------------------------------------------------------------- */

static void on_claimed_record(void *self, const struct nats_error *error,
                              const struct nats_kv_entry *entry)
{
    struct job_run *run = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job other;
    struct err err;

    if (entry) {
        if (run->step == JOB_RUN_REPLAYING && entry->change == NATS_KV_PUT &&
            record_decode(&arena, &job_type, 1, entry->value, &other, &err) == 0)
            job_run_note_job(run, &other);
        return;
    }
    if (error)
        log_warning("job %s: reading newer jobs: %s", run->job.jid, error->text);
    if (job_run_came_back(run))
        job_run_replay(run);
}

/* A job queued for absent peels may have been replaced while it had no owner. */
static void read_newer(struct job_run *run)
{
    const struct nats_kv kv = job_run_bucket(run, STORE_JOBS);
    struct err err;

    run->step = JOB_RUN_REPLAYING;
    if (job_queue_seconds(&run->job) > 0 &&
        nats_kv_keys(&kv, "*", on_claimed_record, run, &err) == 0)
        run->pending++;
    else
        job_run_replay(run);
}

static void on_job_taken(void *self, const struct nats_error *error, uint64_t revision)
{
    struct job_run *run = self;
    struct err err;

    if (!job_run_came_back(run))
        return;
    if (error) { /* another master was faster, or the next scan retries */
        log_info("job %s: not taken over: %s", run->job.jid, error->text);
        fail_claim(run, DISPATCH_PENDING, "another master has taken the job over");
        return;
    }
    run->revision = revision;
    if (job_status_is_final(run->job.status)) /* taken over too often: answer for its targets */
        job_run_answer(run, DISPATCH_DUPLICATE, run->job.jid);
    if (!run->job_counts)
        job_run_make_counts(run);
    if (!run->returns && job_run_subscribe(run, &err) < 0)
        fail_claim(run, DISPATCH_FAILED, err.text);
    else if (run->job.status == JOB_CLAIMED)
        mark_running(run);
    else
        read_newer(run);
}

/* May this master sign requests for it? The record determines function and targets. */
static bool is_signed_by_us(const struct job_run *run)
{
    const struct nats_nkey *signer = job_run_signer(run);

    return !signer || signature_is_of_job(signer->public_key, &run->job);
}

void job_run_take(struct job_run *run, uint64_t revision)
{
    struct nats_kv kv = job_run_bucket(run, STORE_JOBS);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job taken;
    struct err err;

    run->step = JOB_RUN_TAKING;
    run->dispatcher->counts.reclaims++;
    if (run->dispatcher->options.on_reclaim)
        run->dispatcher->options.on_reclaim(run->dispatcher->options.self);
    log_info("job %s: taking over from %s", run->job.jid, run->job.owner);
    (void)claim_take(&run->arena, &run->job, revision, run->dispatcher->options.master_id,
                     job_run_time(), &taken);
    if (run->is_rescue && !is_signed_by_us(run))
        claim_fail(&run->arena, &taken, UNSIGNED);
    job_run_sign(run, &taken);
    run->epoch = taken.sent_epoch;
    run->job = taken;
    write_active(run);
    kv.settled = true; /* several masters may try at the same moment */
    if (nats_kv_update(&kv, run->job.jid, job_run_encode(&arena, &job_type, &taken), revision,
                       on_job_taken, run, &err) < 0)
        fail_claim(run, DISPATCH_FAILED, err.text);
    else
        run->pending++;
}
