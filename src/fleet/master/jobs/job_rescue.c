/*
 * Takes over jobs of dead masters.
 *
 * A dead master may leave a thousand. Takeovers per job are limited (CLAIM_RECLAIMS_MAX), so only a
 * few jobs are taken over at a time: a master that dies in the middle has used up a takeover of
 * some jobs, not of all. The order is random: otherwise the next master would begin with the same
 * jobs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/store.h"
#include "fleet/master/jobs/job_run.h"
#include "fleet/master/peels/roster.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "core/sys/chance.h"

/* Concurrent takeovers. */
#define RESCUES_MAX 8

struct job_rescue {
    struct dispatcher *dispatcher; /* NULL: it has ended meanwhile */
    bool is_reading;
    char jid[JOB_ID_MAX + 1];
};

static void begin_rescues(struct dispatcher *dispatcher);

static void end_rescue(struct dispatcher *dispatcher)
{
    dispatcher->rescues.busy--;
    begin_rescues(dispatcher);
}

void job_run_rescued(struct job_run *run)
{
    if (!run->is_rescue)
        return;
    run->is_rescue = false;
    end_rescue(run->dispatcher);
}

static void on_active_key_purged(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)self;
    (void)error; /* the next scan tries again */
    (void)revision;
}

static void purge_active(struct dispatcher *dispatcher, const char *jid)
{
    const struct nats_kv kv = { .js = dispatcher->options.js,
                                .bucket = store_bucket_name(STORE_JOBS) };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err;

    (void)nats_kv_purge(&kv, job_run_active_key(&arena, jid), 0, on_active_key_purged, NULL, &err);
}

static bool may_take_job(const struct dispatcher *dispatcher, const struct job *job)
{
    return !map_has(&dispatcher->runs, str_from(job->jid)) &&
           (strcmp(job->owner, dispatcher->options.master_id) == 0 ||
            !roster_master_lives(dispatcher->options.roster, str_from(job->owner)));
}

/* True when a run has the job now. */
static bool judge_orphan(struct dispatcher *dispatcher, const struct nats_kv_entry *entry,
                         const char *jid)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job_run *run;
    struct job job;
    struct err err;

    if (record_decode(&arena, &job_type, 1, entry->value, &job, &err) < 0)
        log_warning("job %s: %s", jid, err.text);
    else if (job_status_is_final(job.status))
        purge_active(dispatcher, jid);
    else if (may_take_job(dispatcher, &job)) {
        run = job_run_new(dispatcher, &job);
        run->is_rescue = true;
        job_run_take(run, entry->revision);
        return true;
    }
    return false;
}

static void on_orphan(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct job_rescue *rescue = self;
    struct dispatcher *dispatcher = rescue->dispatcher;
    bool is_taken = false;

    if (dispatcher) {
        (void)map_remove(&dispatcher->rescues.known, str_from(rescue->jid));
        if (!error)
            is_taken = judge_orphan(dispatcher, entry, rescue->jid);
        else if (error->fault == NATS_FAULT_NOT_FOUND)
            purge_active(dispatcher, rescue->jid);
        if (!is_taken)
            end_rescue(dispatcher);
    }
    free(rescue);
}

static struct job_rescue *draw_waiting(struct job_rescues *rescues)
{
    struct job_rescue **drawn = &rescues->waiting.p[chance_number() % rescues->waiting.n];
    struct job_rescue *rescue = *drawn;

    *drawn = rescues->waiting.p[--rescues->waiting.n];
    return rescue;
}

static void begin_rescues(struct dispatcher *dispatcher)
{
    struct job_rescues *rescues = &dispatcher->rescues;
    const struct nats_kv kv = { .js = dispatcher->options.js,
                                .bucket = store_bucket_name(STORE_JOBS),
                                .indirect = true };

    while (rescues->waiting.n > 0 && rescues->busy < RESCUES_MAX) {
        struct job_rescue *rescue = draw_waiting(rescues);
        struct err err;

        if (nats_kv_get(&kv, rescue->jid, on_orphan, rescue, &err) == 0) {
            rescue->is_reading = true;
            rescues->busy++;
        } else { /* the next scan tries again */
            (void)map_remove(&rescues->known, str_from(rescue->jid));
            free(rescue);
        }
    }
}

void dispatcher_recover(struct dispatcher *dispatcher, const char *jid)
{
    struct job_rescues *rescues = &dispatcher->rescues;
    const struct str name = str_from(jid);
    struct job_rescue *rescue;

    if (!dispatcher_is_jid(jid) || map_has(&dispatcher->runs, name) ||
        map_has(&rescues->known, name))
        return;
    rescue = mem_zalloc(sizeof(*rescue));
    rescue->dispatcher = dispatcher;
    (void)snprintf(rescue->jid, sizeof(rescue->jid), "%s", jid);
    (void)map_set(&rescues->known, str_from(rescue->jid), rescue);
    VEC_PUSH(&rescues->waiting, rescue);
    begin_rescues(dispatcher);
}

/* --- jobs that others may have taken over ------------------------------------------------- */

static void on_verified(void *self, const struct nats_error *error,
                        const struct nats_kv_entry *entry)
{
    struct job_run *run = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct job stored;
    struct err err;

    run->is_verifying = false;
    if (!job_run_came_back(run) || error) /* then the next scan asks again */
        return;
    run->doubts = run->doubts_then;
    if (record_decode(&arena, &job_type, 1, entry->value, &stored, &err) == 0 &&
        strcmp(stored.owner, run->dispatcher->options.master_id) != 0)
        job_run_leave(run);
}

static void verify_run(struct job_run *run)
{
    struct nats_kv kv = job_run_bucket(run, STORE_JOBS);
    struct err err;

    kv.indirect = true;
    run->doubts_then = run->dispatcher->doubts;
    if (nats_kv_get(&kv, run->job.jid, on_verified, run, &err) < 0)
        return;
    run->is_verifying = true;
    run->pending++;
}

/* Claims and ends find out by themselves: their writes compare revisions. */
void dispatcher_verify(struct dispatcher *dispatcher, uint64_t doubts)
{
    dispatcher->doubts = doubts;
    MAP_EACH (&dispatcher->runs, entry) {
        struct job_run *run = entry->value;

        if ((run->step == JOB_RUN_REPLAYING || run->step == JOB_RUN_WATCHING) &&
            run->doubts < doubts && !run->is_verifying)
            verify_run(run);
    }
}

void job_rescues_drop(struct job_rescues *rescues)
{
    MAP_EACH (&rescues->known, entry) {
        struct job_rescue *rescue = entry->value;

        if (rescue->is_reading)
            rescue->dispatcher = NULL;
        else
            free(rescue);
    }
    map_done(&rescues->known);
    vec_done(&rescues->waiting);
}
