/* Blocks that wait for their job: they watch its record, whichever master runs it. */
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/mem.h"
#include "fleet/bus/store.h"
#include "fleet/master/reactor/reactor_engine.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/reactor/action.h"
#include "fleet/reactor/awaited.h"
#include "core/sys/clock.h"
#include "core/sys/crash_point.h"
#include "core/sys/loop.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"

/* Beyond the job's timeout: another master may take it over meanwhile. */
#define GRACE_NS (300 * CLOCK_SECOND)

struct reactor_wait {
    struct reactor_engine *engine;
    struct reaction_run *reaction_run; /* NULL: no waiter */
    struct reactor_wait *previous, *next;
    struct arena arena;
    const char *jid;
    struct nats_kv_watch *watch;
    struct timer timer;
    struct job job;       /* once it has ended */
    struct map succeeded; /* peels */
    bool is_listing;      /* pending list of returns */
};

static struct nats_kv get_waited_bucket(const struct reactor_wait *wait, enum store_bucket bucket)
{
    return (struct nats_kv){ .js = wait->engine->master->js, .bucket = store_bucket_name(bucket) };
}

static void count_reactor_waits(struct reactor_engine *engine, size_t count)
{
    engine->waiting = count;
    metrics_set(engine->master->metrics, MASTER_REACTOR_WAITING, (double)count, NULL, NULL);
}

static void free_wait(struct reactor_wait *wait)
{
    map_done(&wait->succeeded);
    arena_done(&wait->arena);
    free(wait);
}

/* Stop watching. Returns the waiter. */
static struct reaction_run *close_wait(struct reactor_wait *wait)
{
    struct reactor_engine *engine = wait->engine;
    struct reaction_run *reaction_run = wait->reaction_run;

    wait->reaction_run = NULL;
    nats_kv_watch_free(wait->watch);
    wait->watch = NULL;
    timer_clear(loop_timers(engine->master->loop), &wait->timer);
    *(wait->previous ? &wait->previous->next : &engine->waits) = wait->next;
    if (wait->next)
        wait->next->previous = wait->previous;
    count_reactor_waits(engine, engine->waiting - 1);
    return reaction_run;
}

static void fail_reactor_wait(struct reactor_wait *wait, const char *message)
{
    struct reaction_run *reaction_run = close_wait(wait);
    const bool is_listing = wait->is_listing;

    reaction_run_answer(reaction_run, &(struct reaction_run_answer){ .result = OUTCOME_ERROR,
                                                                     .may_pass = true,
                                                                     .message = message });
    if (!is_listing)
        free_wait(wait); /* otherwise at the end of the list */
}

/* --- the end of the job ----------------------------------------------------------------- */

static struct param_strs list_failed(struct reactor_wait *wait)
{
    VEC(const char *) failed = VEC_INIT;

    for (size_t i = 0; i < wait->job.targets.n && failed.n < AWAITED_FAILED_MAX; i++)
        if (!map_has(&wait->succeeded, str_from(wait->job.targets.p[i])))
            VEC_PUSH_IN(&wait->arena, &failed, wait->job.targets.p[i]);
    return (struct param_strs){ failed.n, failed.p };
}

static void finish_reactor_wait(struct reactor_wait *wait)
{
    const struct job *job = &wait->job;
    const bool is_ok = job->status == JOB_COMPLETE;
    const struct awaited_end end = {
        .status = job_status_name(job->status),
        .is_ok = is_ok,
        .jid = wait->jid,
        .targets = (int64_t)job->targets.n,
        .returned = job->return_count,
        .succeeded = job->success_count,
        .failed = is_ok ? (struct param_strs){ 0, NULL } : list_failed(wait),
    };

    crash_point("reaction-awaited");
    reaction_run_job_ended(close_wait(wait), &end);
    free_wait(wait);
}

static void note_return(struct reactor_wait *wait, const struct nats_kv_entry *entry)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct str peel = str_from_offset(entry->key, strlen(wait->jid) + 1);
    struct exec_return returned;
    struct err err;

    if (record_decode(&arena, &exec_return_type, 1, entry->value, &returned, &err) == 0 &&
        returned.success)
        *map_place(&wait->succeeded, arena_str(&wait->arena, peel)) = wait;
}

/* Each return, then the end of the list, or an error. */
static void on_waited_return(void *self, const struct nats_error *error,
                             const struct nats_kv_entry *entry)
{
    struct reactor_wait *wait = self;

    if (entry) {
        if (wait->reaction_run && entry->change == NATS_KV_PUT)
            note_return(wait, entry);
        return;
    }
    wait->is_listing = false;
    if (!wait->reaction_run)
        free_wait(wait);
    else if (error)
        fail_reactor_wait(wait, error->text);
    else
        finish_reactor_wait(wait);
}

/* The returns show which peels failed. */
static void list_returns(struct reactor_wait *wait)
{
    const struct nats_kv kv = get_waited_bucket(wait, STORE_JOB_RETURNS);
    struct err err;

    wait->is_listing = true;
    if (nats_kv_list(&kv, arena_printf(&wait->arena, "%s.*", wait->jid), on_waited_return, wait,
                     &err) == 0)
        return;
    wait->is_listing = false;
    fail_reactor_wait(wait, err.text);
}

static void on_waited_job(void *self, const struct nats_kv_entry *entry)
{
    struct reactor_wait *wait = self;
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct job job;
    struct err err;

    if (entry->change != NATS_KV_PUT ||
        record_decode(&scratch, &job_type, 1, entry->value, &job, &err) < 0 ||
        !job_status_is_final(job.status))
        return;
    nats_kv_watch_free(wait->watch);
    wait->watch = NULL;
    /* Its texts are views of the message. */
    if (record_decode(&wait->arena, &job_type, 1, arena_str(&wait->arena, entry->value), &wait->job,
                      &err) < 0)
        fail_reactor_wait(wait, err.text);
    else if (wait->job.status == JOB_COMPLETE)
        finish_reactor_wait(wait);
    else
        list_returns(wait);
}

/* --- waiting ---------------------------------------------------------------------------- */

static void on_wait_watch_failed(void *self, const struct nats_error *error)
{
    if (error->fault != NATS_FAULT_CANCELED)
        fail_reactor_wait(self, error->text);
}

static void on_overdue(struct timer *timer)
{
    fail_reactor_wait(container_of(timer, struct reactor_wait, timer),
                      "the end of the job is not recorded");
}

static struct reactor_wait *add_wait(struct reactor_engine *engine,
                                     struct reaction_run *reaction_run, const char *jid)
{
    struct reactor_wait *wait = mem_zalloc(sizeof(*wait));

    wait->engine = engine;
    wait->reaction_run = reaction_run;
    wait->jid = arena_strdup(&wait->arena, jid);
    wait->next = engine->waits;
    if (wait->next)
        wait->next->previous = wait;
    engine->waits = wait;
    count_reactor_waits(engine, engine->waiting + 1);
    return wait;
}

void reactor_await(void *user, struct reaction_run *reaction_run,
                   const struct reaction_run_job *job)
{
    struct reactor_engine *engine = user;
    struct reactor_wait *wait = add_wait(engine, reaction_run, job->jid);
    const struct nats_kv kv = get_waited_bucket(wait, STORE_JOBS);
    const struct nats_kv_watch_options options = {
        .pattern = wait->jid,
        .entry = on_waited_job,
        .failed = on_wait_watch_failed,
        .self = wait,
    };
    struct err err;

    crash_point("reaction-waits");
    reactor_leave_room(reaction_run_message(reaction_run));
    timer_set(loop_timers(engine->master->loop), &wait->timer,
              clock_after(clock_now(), job->dispatch->timeout + GRACE_NS), on_overdue);
    if (engine->is_stopping) {
        fail_reactor_wait(wait, "this master is stopping");
        return;
    }
    wait->watch = nats_kv_watch_new(&kv, &options, &err);
    if (!wait->watch)
        fail_reactor_wait(wait, err.text);
}

void reactor_end_waits(struct reactor_engine *engine)
{
    for (struct reactor_wait *wait = engine->waits, *next; wait; wait = next) {
        next = wait->next;
        fail_reactor_wait(wait, "this master is stopping");
    }
}
