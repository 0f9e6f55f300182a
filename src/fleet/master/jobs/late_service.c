/*
 * The service "late-returns": stores every return, and corrects the record for one that comes after
 * the end of its job.
 *
 * All masters share a consumer of returns. A return of a running job is handed to its run, which
 * may have missed it while disconnected; other masters leave it alone until the job has ended. A
 * return of an ended job replaces the made-up answer, and counts and status of the job are updated:
 * they are recounted from the stored returns, once for all returns that arrive together, so that an
 * interruption at any point is harmless.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/rate.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/jobs/rollout.h"
#include "fleet/jobs/job_counts.h"
#include "fleet/master/jobs/dispatcher.h"
#include "fleet/master/services.h"
#include "fleet/nats/ack.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/puller.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"
#include "fleet/wire/subject.h"

#define BATCH        256
#define TRY_AGAIN_NS (3 * CLOCK_SECOND)
/* How long returns of running jobs are held, to be answered together; a full batch does not
 * wait. */
#define HOLD_NS (CLOCK_SECOND / 2)
/* Delay, for further returns of the same job. */
#define GATHER_NS (CLOCK_SECOND / 5)
/* Maximum bytes of returns in memory; others are redelivered. */
#define KEPT_MAX ((size_t)16 << 20)
/* Returns of unknown jobs per peel, before further ones are not looked up. A record lives as long
 * as returns do, so they are rare. */
#define UNKNOWN_BURST      100
#define UNKNOWN_PER_MINUTE 10
/* The latest successful jobs: their returns need no check. */
#define SETTLED_MAX 64

struct late_service {
    struct master *master;
    struct nats_puller *puller;
    struct map corrections; /* struct correction by jid */
    struct map queries;     /* struct record_query by jid */
    char settled[SETTLED_MAX][JOB_ID_MAX + 1];
    size_t next_settled;
    /* Returns of running jobs are held for a moment: their runs mostly have them, and masters are
     * busy with the rest. */
    struct late_return *held;
    size_t held_count;
    struct timer hold;
    size_t kept;         /* bytes of all late returns */
    struct rate unknown; /* returns of unknown jobs, per peel */
};

/* A late return. */
struct late_return {
    struct late_service *service;
    struct arena arena;
    struct str reply, payload;
    const char *jid, *peel, *key; /* of the stored return */
    struct str subject;
    struct late_return *next; /* of the same correction, or held */
    bool is_counted;
};

/* A pending read of a job record, shared by all its waiting returns: it names every target, and
 * there may be as many returns as targets. */
struct record_query {
    struct late_service *service;
    struct late_return *returns;
    char jid[]; /* the key in the map */
};

/* An ended job whose counts may be wrong. */
struct correction {
    struct late_service *service;
    struct arena arena;
    const char *jid;
    struct timer timer;
    struct late_return *returns, *covered; /* arrived meanwhile; being counted */
    struct job job;
    int32_t returned, succeeded;
};

static void *open_late_service(struct master *master, struct err *err)
{
    struct late_service *service = mem_zalloc(sizeof(*service));

    (void)err;
    service->master = master;
    rate_init(&service->unknown, UNKNOWN_BURST, UNKNOWN_PER_MINUTE);
    return service;
}

/* --- the end of a late return ------------------------------------------------------- */

/* Unanswered returns are redelivered. */
static void answer_late_return(struct late_service *service, struct str reply, bool try_again)
{
    struct err err;

    if (!service->puller)
        return;
    if (try_again)
        (void)nats_nak(service->master->js.conn, reply, TRY_AGAIN_NS, &err);
    else
        (void)nats_ack(service->master->js.conn, reply, &err);
    nats_puller_done(service->puller, 1);
}

static void end_late_return(struct late_return *late_return, bool try_again)
{
    late_return->service->kept -= late_return->payload.n;
    answer_late_return(late_return->service, late_return->reply, try_again);
    arena_done(&late_return->arena);
    free(late_return);
}

static struct nats_kv get_late_bucket(const struct late_service *service, enum store_bucket bucket)
{
    return (struct nats_kv){ .js = service->master->js,
                             .bucket = store_bucket_name(bucket),
                             .indirect = true,
                             .settled = true };
}

/* --- correcting --------------------------------------------------------------------- */

static bool is_late_return_success(const struct exec_return *ret)
{
    return ret->success && ret->error[0] == '\0';
}

static void count_returns(struct correction *correction);

static void on_correction_gathered(struct timer *timer)
{
    count_returns(container_of(timer, struct correction, timer));
}

static void gather_correction(struct correction *correction)
{
    timer_set(loop_timers(correction->service->master->loop), &correction->timer,
              clock_after(clock_now(), GATHER_NS), on_correction_gathered);
}

static void end_letters(struct late_return *returns, bool try_again)
{
    struct late_return *next;

    for (; returns; returns = next) {
        next = returns->next;
        end_late_return(returns, try_again);
    }
}

static void free_correction(struct correction *correction)
{
    (void)map_remove(&correction->service->corrections, str_from(correction->jid));
    arena_done(&correction->arena);
    free(correction);
}

static void end_round(struct correction *correction, bool try_again)
{
    end_letters(correction->covered, try_again);
    correction->covered = NULL;
    if (correction->returns && correction->service->puller) {
        gather_correction(correction);
        return;
    }
    end_letters(correction->returns, true);
    free_correction(correction);
}

static void on_corrected(void *self, const struct nats_error *error, uint64_t revision)
{
    struct correction *correction = self;

    (void)revision;
    if (error && error->fault == NATS_FAULT_CONFLICT) { /* count the other one's */
        count_returns(correction);
        return;
    }
    if (!error)
        log_info("job %s: record corrected after late returns: %d of %zu returned, %d succeeded",
                 correction->jid, correction->job.return_count, correction->job.targets.n,
                 correction->job.success_count);
    end_round(correction, error != NULL);
}

/* A rollout that failed at a gate stays failed, despite later successes. */
static bool has_stopped(const struct job *job)
{
    return value_get_text(&job->metadata, ROLLOUT_STOPPED) != NULL;
}

static void correct_job(struct correction *correction, uint64_t revision)
{
    const struct nats_kv kv = get_late_bucket(correction->service, STORE_JOBS);
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct job *job = &correction->job;
    int64_t wall = bus_time();
    struct err err;

    job->return_count = correction->returned;
    job->success_count = correction->succeeded;
    job->updated = (struct value_time){ wall / CLOCK_SECOND, (uint32_t)(wall % CLOCK_SECOND) };
    job->status = job_counts_correct_status(
        job->status, (struct job_counts_counts){ job->targets.n, (size_t)job->return_count,
                                                 (size_t)job->success_count, has_stopped(job) });
    if (record_encode(&bytes, &job_type, job, &err) < 0 ||
        nats_kv_update(&kv, correction->jid, buf_view(&bytes), revision, on_corrected, correction,
                       &err) < 0)
        end_round(correction, true);
}

static void on_job_again(void *self, const struct nats_error *error,
                         const struct nats_kv_entry *entry)
{
    struct correction *correction = self;
    const struct job *job = &correction->job;
    struct err err;

    if (error ||
        record_decode(&correction->arena, &job_type, 1, arena_str(&correction->arena, entry->value),
                      &correction->job, &err) < 0)
        end_round(correction, error && error->fault != NATS_FAULT_NOT_FOUND);
    else if (!job_status_is_final(job->status) || job->return_count > correction->returned ||
             job->success_count > correction->succeeded) /* answers are never removed */
        end_round(correction, true);
    else if (job->return_count == correction->returned &&
             job->success_count == correction->succeeded)
        end_round(correction, false);
    else
        correct_job(correction, entry->revision);
}

static void count_corrected_return(struct correction *correction, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct exec_return ret;
    struct err err;

    if (record_decode(&arena, &exec_return_type, 1, entry->value, &ret, &err) < 0) {
        correction->returned++;
        return;
    }
    correction->returned += !ret.overdue;
    correction->succeeded += is_late_return_success(&ret);
    for (struct late_return *late_return = correction->covered; late_return;
         late_return = late_return->next)
        if (!exec_return_is_made_up(&ret) && str_eq_text(entry->key, late_return->key))
            late_return->is_counted = true;
}

/* A server that has just restarted may not have the latest returns yet. */
static bool is_count_stale(const struct correction *correction)
{
    for (const struct late_return *late_return = correction->covered; late_return;
         late_return = late_return->next)
        if (!late_return->is_counted)
            return true;
    return false;
}

static void on_stored_return(void *self, const struct nats_error *error,
                             const struct nats_kv_entry *entry)
{
    struct correction *correction = self;
    const struct nats_kv kv = get_late_bucket(correction->service, STORE_JOBS);
    struct err err;

    if (entry) {
        count_corrected_return(correction, entry);
    } else if (error || is_count_stale(correction) ||
               nats_kv_get(&kv, correction->jid, on_job_again, correction, &err) < 0) {
        end_round(correction, true);
    }
}

/* Recount from storage: an interrupted or concurrent count becomes right. */
static void count_returns(struct correction *correction)
{
    const struct nats_kv kv = get_late_bucket(correction->service, STORE_JOB_RETURNS);
    const char *pattern = arena_printf(&correction->arena, "%s.*", correction->jid);
    struct late_return **last = &correction->covered;
    struct err err;

    for (; *last; last = &(*last)->next)
        (*last)->is_counted = false;
    *last = correction->returns;
    correction->returns = NULL;
    correction->returned = correction->succeeded = 0;
    if (nats_kv_list(&kv, pattern, on_stored_return, correction, &err) < 0)
        end_round(correction, true);
}

static void begin_correction(struct late_return *late_return)
{
    struct late_service *service = late_return->service;
    struct correction *correction = map_find(&service->corrections, str_from(late_return->jid));

    if (!service->puller) {
        end_late_return(late_return, true);
        return;
    }
    if (!correction) {
        correction = mem_zalloc(sizeof(*correction));
        correction->service = service;
        correction->jid = arena_strdup(&correction->arena, late_return->jid);
        (void)map_set(&service->corrections, str_from(correction->jid), correction);
        gather_correction(correction);
    }
    late_return->next = correction->returns;
    correction->returns = late_return;
}

/* --- storing ------------------------------------------------------------------------ */

static void on_late_return_stored(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)revision;
    if (error)
        end_late_return(self, true);
    else
        begin_correction(self);
}

/* The first real answer wins. It may have been stored by a master that did not update the
 * counts. */
static void on_stored_return_read(void *self, const struct nats_error *error,
                                  const struct nats_kv_entry *entry)
{
    struct late_return *late_return = self;
    const struct nats_kv kv = get_late_bucket(late_return->service, STORE_JOB_RETURNS);
    struct exec_return known;
    struct err err;
    int result;

    if (error && error->fault != NATS_FAULT_NOT_FOUND) {
        end_late_return(late_return, true);
        return;
    }
    if (entry &&
        record_decode(&late_return->arena, &exec_return_type, 1,
                      arena_str(&late_return->arena, entry->value), &known, &err) == 0 &&
        !exec_return_is_made_up(&known)) {
        begin_correction(late_return);
        return;
    }
    result = !entry ? nats_kv_create(&kv, late_return->key, late_return->payload,
                                     on_late_return_stored, late_return, &err)
                    : nats_kv_update(&kv, late_return->key, late_return->payload, entry->revision,
                                     on_late_return_stored, late_return, &err);
    if (result < 0)
        end_late_return(late_return, true);
}

/* --- the job ------------------------------------------------------------------------ */

static bool is_all_success(const struct job *job)
{
    return (size_t)job->success_count == job->targets.n;
}

static bool is_job_settled(const struct late_service *service, const char *jid)
{
    for (size_t i = 0; i < SETTLED_MAX; i++)
        if (strcmp(service->settled[i], jid) == 0)
            return true;
    return false;
}

static void note_settled(struct late_service *service, const char *jid)
{
    if (strlen(jid) > JOB_ID_MAX || is_job_settled(service, jid))
        return;
    (void)snprintf(service->settled[service->next_settled], sizeof(service->settled[0]), "%s", jid);
    service->next_settled = (service->next_settled + 1) % SETTLED_MAX;
}

/* Decide about a return, with the record of its job. */
static void judge_late_return(struct late_return *late_return, const struct job *job,
                              const struct map *targets)
{
    const struct nats_kv kv = get_late_bucket(late_return->service, STORE_JOB_RETURNS);
    struct err err;

    if (!map_find(targets, str_from(late_return->peel)))
        end_late_return(late_return, false);
    else if (!job_status_is_final(job->status)) /* stored by its owner, or by us after the end */
        end_late_return(late_return, true);
    else if (is_all_success(job))
        end_late_return(late_return, false);
    else if (nats_kv_get(&kv, late_return->key, on_stored_return_read, late_return, &err) < 0)
        end_late_return(late_return, true);
}

static void judge_letters(struct late_service *service, struct late_return *returns,
                          struct str record)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct map targets = { 0 };
    struct late_return *next;
    struct job job;
    struct err err;

    if (record_decode(&arena, &job_type, 1, record, &job, &err) < 0) {
        end_letters(returns, false);
        return;
    }
    for (size_t i = 0; i < job.targets.n; i++)
        (void)map_set(&targets, str_from(job.targets.p[i]), service);
    if (job_status_is_final(job.status) && is_all_success(&job))
        note_settled(service, returns->jid);
    for (struct late_return *late_return = returns; late_return; late_return = next) {
        next = late_return->next;
        late_return->next = NULL;
        judge_late_return(late_return, &job, &targets);
    }
    map_done(&targets);
}

static void drop_unknown(struct late_service *service, struct late_return *returns)
{
    for (const struct late_return *late_return = returns; late_return;
         late_return = late_return->next)
        (void)rate_take(&service->unknown, str_from(late_return->peel), clock_now());
    end_letters(returns, false);
}

static void on_corrected_job(void *self, const struct nats_error *error,
                             const struct nats_kv_entry *entry)
{
    struct record_query *query = self;
    struct late_service *service = query->service;
    struct late_return *returns = query->returns;

    (void)map_remove(&service->queries, str_from(query->jid));
    free(query);
    if (!error)
        judge_letters(service, returns, entry->value);
    else if (error->fault != NATS_FAULT_NOT_FOUND)
        end_letters(returns, true);
    else
        drop_unknown(service, returns);
}

static void ask_for_job(struct late_return *late_return)
{
    struct late_service *service = late_return->service;
    struct record_query *query = map_find(&service->queries, str_from(late_return->jid));
    const struct nats_kv kv = get_late_bucket(service, STORE_JOBS);
    const size_t size = strlen(late_return->jid) + 1;
    struct err err;

    if (!query) {
        query = mem_zalloc(sizeof(*query) + size);
        query->service = service;
        memcpy(query->jid, late_return->jid, size);
        if (nats_kv_get(&kv, query->jid, on_corrected_job, query, &err) < 0) {
            free(query);
            end_late_return(late_return, true);
            return;
        }
        (void)map_set(&service->queries, str_from(query->jid), query);
    }
    late_return->next = query->returns;
    query->returns = late_return;
}

/* --- returns ------------------------------------------------------------------------ */

static bool read_late_return(struct late_return *late_return, const struct nats_msg *msg)
{
    enum subject_kind kind;
    struct subject_names names;

    if (!subject_parse(msg->subject, &kind, &names) || kind != SUBJECT_JOB_RETURN)
        return false;
    late_return->jid = arena_str(&late_return->arena, names.jid).p;
    late_return->peel = arena_str(&late_return->arena, names.peel).p;
    late_return->key =
        arena_printf(&late_return->arena, "%s.%s", late_return->jid, late_return->peel);
    late_return->payload = arena_str(&late_return->arena, msg->payload);
    late_return->service->kept += late_return->payload.n;
    late_return->subject = arena_str(&late_return->arena, msg->subject);
    return true;
}

/* Identity is in the subject; only masters make up answers. */
static bool is_genuine(const struct late_return *late_return)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct exec_return late;
    struct err err;

    return record_decode(&arena, &exec_return_type, 1, late_return->payload, &late, &err) == 0 &&
           exec_return_is_of(&late, str_from(late_return->jid), str_from(late_return->peel)) &&
           !exec_return_is_made_up(&late);
}

/* The owner of the job usually gets it itself: leave it time to end the job. */
static bool is_first_delivery(struct str reply)
{
    struct nats_delivery delivery;

    return nats_delivery_parse(reply, &delivery) && delivery.deliveries == 1;
}

/* Its run may have it by now. */
static void route_late_return(struct late_return *late_return)
{
    struct late_service *service = late_return->service;
    struct dispatcher *dispatcher = master_dispatcher(service->master);
    const struct str jid = str_from(late_return->jid);

    if (dispatcher_knows_return(dispatcher, jid, str_from(late_return->peel)) ||
        is_job_settled(service, late_return->jid) || !is_genuine(late_return) ||
        dispatcher_hand_return(dispatcher, jid, late_return->subject, late_return->payload))
        end_late_return(late_return, false);
    else if (is_first_delivery(late_return->reply))
        end_late_return(late_return, true);
    else
        ask_for_job(late_return);
}

/* All at once: their acks leave together, and the server hands out the next batch. */
static void release_held_returns(struct late_service *service)
{
    struct late_return *next, *late_return = service->held;

    service->held = NULL;
    service->held_count = 0;
    timer_clear(loop_timers(service->master->loop), &service->hold);
    for (; late_return; late_return = next) {
        next = late_return->next;
        late_return->next = NULL;
        route_late_return(late_return);
    }
}

static void on_return_hold_over(struct timer *timer)
{
    release_held_returns(container_of(timer, struct late_service, hold));
}

static bool hold_late_return(struct late_return *late_return)
{
    struct late_service *service = late_return->service;

    if (!dispatcher_has(master_dispatcher(service->master), str_from(late_return->jid)))
        return false;
    late_return->next = service->held;
    service->held = late_return;
    if (++service->held_count == BATCH)
        release_held_returns(service);
    else if (!timer_is_set(&service->hold))
        timer_set(loop_timers(service->master->loop), &service->hold,
                  clock_after(clock_now(), HOLD_NS), on_return_hold_over);
    return true;
}

/* Has a run stored it already? */
static bool is_return_stored(const struct late_service *service, const struct nats_msg *msg)
{
    enum subject_kind kind;
    struct subject_names names;

    return subject_parse(msg->subject, &kind, &names) && kind == SUBJECT_JOB_RETURN &&
           dispatcher_knows_return(master_dispatcher(service->master), names.jid, names.peel);
}

/* A peel that sends many returns of unknown jobs is ignored for a while. */
static bool is_liar(struct late_service *service, const struct nats_msg *msg)
{
    enum subject_kind kind;
    struct subject_names names;
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (!subject_parse(msg->subject, &kind, &names) || kind != SUBJECT_JOB_RETURN ||
        rate_wait(&service->unknown, names.peel, clock_now()) == 0 ||
        dispatcher_has(master_dispatcher(service->master), names.jid))
        return false;
    metrics_add(service->master->metrics, MASTER_PEEL_DROPPED, 1, arena_str(&arena, names.peel).p,
                "returns");
    return true;
}

static void on_late_return(void *self, const struct nats_msg *msg)
{
    struct late_service *service = self;
    struct late_return *late_return;

    if (is_return_stored(service, msg) || is_liar(service, msg)) {
        answer_late_return(service, msg->reply, false);
        return;
    }
    if (service->kept + msg->payload.n > KEPT_MAX) {
        answer_late_return(service, msg->reply, true);
        return;
    }
    late_return = mem_zalloc(sizeof(*late_return));
    late_return->service = service;
    late_return->reply = arena_str(&late_return->arena, msg->reply);
    if (!read_late_return(late_return, msg))
        end_late_return(late_return, false);
    else if (!hold_late_return(late_return))
        route_late_return(late_return);
}

/* --- life --------------------------------------------------------------------------- */

static void on_late_trouble(void *self, const struct nats_error *error)
{
    (void)self;
    if (error->fault != NATS_FAULT_CANCELED && error->fault != NATS_FAULT_DISCONNECTED)
        log_warning("late returns: %s", error->text);
}

static int start_late_service(void *self, struct err *err)
{
    struct late_service *service = self;

    service->puller = nats_puller_new(&service->master->js,
                                      &(struct nats_puller_options){ .stream = STORE_JOB_EVENTS,
                                                                     .consumer = STORE_RETURNS,
                                                                     .batch = BATCH,
                                                                     .message = on_late_return,
                                                                     .trouble = on_late_trouble,
                                                                     .failed = on_late_trouble,
                                                                     .self = service },
                                      err);
    return service->puller ? 0 : -1;
}

static void stop_late_service(void *self)
{
    struct late_service *service = self;

    nats_puller_free(service->puller);
    service->puller = NULL;
    timer_clear(loop_timers(service->master->loop), &service->hold);
    service->held_count = 0;
    while (service->held) { /* they are redelivered */
        struct late_return *late_return = service->held;

        service->held = late_return->next;
        end_late_return(late_return, true);
    }
    MAP_EACH (&service->corrections, entry) {
        struct correction *correction = entry->value;

        timer_clear(loop_timers(service->master->loop), &correction->timer);
        if (!correction->covered) /* otherwise its call frees it */
            end_round(correction, true);
    }
}

static void free_late_service(void *self)
{
    struct late_service *service = self;

    map_done(&service->corrections);
    map_done(&service->queries);
    rate_done(&service->unknown);
    free(service);
}

const struct master_service master_late_service = {
    .name = "late-returns",
    .open = open_late_service,
    .start = start_late_service,
    .stop = stop_late_service,
    .free = free_late_service,
};
