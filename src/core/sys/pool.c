/*
 * Counts, all under the mutex: a worker is idle (waits for a job), blocked (said
 * so) or active. A worker takes a job only while active ones are fewer than
 * `active_max`; a job that waits and no idle worker to take it make a new one, if
 * there is room in both `active_max` and `limit`. A blocked worker that continues
 * may make one too many active: it finishes its job and then waits. A guest is a thread of another
 * owner that works beside the workers: blocked or active.
 */
#include "core/sys/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/stack.h"
#include "core/sys/clock.h"
#include "core/sys/thread.h"

/* Stack of a thread that only waits. */
#define RESERVE_STACK_SIZE ((size_t)64 << 10)

struct pool_job {
    pool_fn *fn;
    void *arg;
    struct pool_job *next;
};

struct worker {
    pthread_t thread;
    struct pool *pool;
    struct worker *next;
};

/* An idle thread, for as long as the system has room for more. A pool whose workers use up the
 * thread limit could start no program, so the reserve ends when a worker cannot be started. */
struct reserve {
    pthread_t thread;
    pthread_cond_t leave;
    bool started, leaving;
};

struct pool {
    pthread_mutex_t mutex;
    pthread_cond_t work; /* a job may be taken, or the pool ends */
    pthread_cond_t calm; /* no job is left, or a worker has ended */
    struct pool_job *first, **last;
    struct worker *ended; /* to join */
    unsigned limit, active_max;
    unsigned workers, guests, idle, blocked, running, peak;
    size_t stack_size;
    int64_t idle_time;
    bool closing, lazy;
    struct reserve reserve;
};

static _Thread_local struct pool *own_pool, *joined_pool; /* NULL: none */
static _Thread_local unsigned block_depth;
static _Thread_local struct {
    pool_fn *fn; /* NULL: no callback */
    void *arg;
} block_watcher;

static unsigned count_active_jobs(const struct pool *pool)
{
    return pool->workers + pool->guests - pool->idle - pool->blocked;
}

/* --- workers ---------------------------------------------------------------------------- */

/* No job begins once the pool ends, not even those that running jobs submit. */
static bool may_take_job(const struct pool *pool)
{
    /* an idle worker is about to check: it counts as active when it continues */
    return pool->first && !pool->closing && count_active_jobs(pool) < pool->active_max;
}

static struct pool_job *take_pool_job(struct pool *pool)
{
    struct pool_job *job = pool->first;

    pool->first = job->next;
    if (!pool->first)
        pool->last = &pool->first;
    return job;
}

/* The last worker stays, unless the pool is lazy. */
static bool may_end(const struct pool *pool)
{
    return pool->lazy || pool->workers > 1;
}

/* Wait for a job to take; false: end, after a long idle time or with the pool. */
static bool wait_for_job(struct pool *pool)
{
    int64_t deadline = clock_after(clock_real(), pool->idle_time);
    const struct timespec until = { (time_t)(deadline / CLOCK_SECOND),
                                    (long)(deadline % CLOCK_SECOND) };
    bool goes_on = true;

    pool->idle++;
    while (goes_on && !may_take_job(pool)) {
        if (pool->closing)
            goes_on = false;
        else if (!may_end(pool))
            (void)pthread_cond_wait(&pool->work, &pool->mutex);
        else if (pthread_cond_timedwait(&pool->work, &pool->mutex, &until) == ETIMEDOUT &&
                 !may_take_job(pool))
            goes_on = !may_end(pool);
    }
    pool->idle--;
    return goes_on;
}

static void *run_worker(void *arg);

static void join_ended(struct pool *pool)
{
    for (struct worker *next; pool->ended; pool->ended = next) {
        next = pool->ended->next;
        (void)pthread_join(pool->ended->thread,
                           NULL); /* it has released the mutex, or is about to */
        free(pool->ended);
    }
}

static void *hold_place(void *arg)
{
    struct pool *pool = arg;

    (void)pthread_mutex_lock(&pool->mutex);
    while (!pool->reserve.leaving)
        (void)pthread_cond_wait(&pool->reserve.leave, &pool->mutex);
    (void)pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* Returns the errno of a failure, or 0. */
static int start_reserve(struct pool *pool)
{
    int errnum;

    if (pool->reserve.started || pool->lazy)
        return 0;
    errnum = thread_start(&pool->reserve.thread, RESERVE_STACK_SIZE, hold_place, pool);
    pool->reserve.started = errnum == 0;
    return errnum;
}

static void release_reserve(struct pool *pool)
{
    pool->reserve.leaving = true;
    (void)pthread_cond_signal(&pool->reserve.leave);
}

/* Returns the errno of a failure, or 0. The new worker counts at once, so that no other one is
 * started for the same job. It waits for the mutex, which is held here. */
static int start_worker(struct pool *pool)
{
    struct worker *worker = mem_zalloc(sizeof(*worker));
    int errnum = start_reserve(pool);

    join_ended(pool);
    worker->pool = pool;
    if (errnum == 0)
        errnum = thread_start(&worker->thread, pool->stack_size, run_worker, worker);
    if (errnum != 0) { /* the existing ones must do */
        release_reserve(pool);
        pool->limit = pool->workers > 0 ? pool->workers : 1;
        free(worker);
        return errnum;
    }
    pool->workers++;
    if (pool->workers > pool->peak)
        pool->peak = pool->workers;
    return 0;
}

/* Find a worker for the first job in the queue, if the counts allow it. When none can be started
 * the job waits for an existing one. */
static void find_worker(struct pool *pool)
{
    if (!may_take_job(pool))
        return;
    if (pool->idle > 0)
        (void)pthread_cond_signal(&pool->work);
    else if (pool->workers < pool->limit)
        (void)start_worker(pool);
}

static void run_pool_job(struct pool *pool, struct pool_job *job)
{
    pool->running++;
    find_worker(pool); /* for the next job: this worker may have taken the wake-up of another */
    (void)pthread_mutex_unlock(&pool->mutex);
    job->fn(job->arg);
    free(job);
    (void)pthread_mutex_lock(&pool->mutex);
    pool->running--;
    if (pool->running == 0 && !pool->first)
        (void)pthread_cond_broadcast(&pool->calm);
}

static void *run_worker(void *arg)
{
    struct worker *self = arg;
    struct pool *pool = self->pool;

    own_pool = pool;
    stack_begin(pool->stack_size);
    (void)pthread_mutex_lock(&pool->mutex);
    while (wait_for_job(pool))
        run_pool_job(pool, take_pool_job(pool));
    pool->workers--;
    self->next = pool->ended;
    pool->ended = self;
    (void)pthread_cond_broadcast(&pool->calm);
    (void)pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* --- public ------------------------------------------------------------------------------ */

static void init_locks(struct pool *pool)
{
    pthread_condattr_t attr;

    (void)pthread_mutex_init(&pool->mutex, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&pool->work, &attr);
    (void)pthread_cond_init(&pool->calm, &attr);
    (void)pthread_cond_init(&pool->reserve.leave, &attr);
    (void)pthread_condattr_destroy(&attr);
}

/* The mutex is free, and all workers have ended. */
static void destroy_pool(struct pool *pool)
{
    if (pool->reserve.started) {
        (void)pthread_mutex_lock(&pool->mutex);
        release_reserve(pool);
        (void)pthread_mutex_unlock(&pool->mutex);
        (void)pthread_join(pool->reserve.thread, NULL);
    }
    (void)pthread_cond_destroy(&pool->reserve.leave);
    (void)pthread_cond_destroy(&pool->work);
    (void)pthread_cond_destroy(&pool->calm);
    (void)pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

static unsigned core_count(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 ? (unsigned)n : 1;
}

struct pool *pool_new(const struct pool_options *options, struct err *err)
{
    static const struct pool_options none;
    const struct pool_options *o = options ? options : &none;
    struct pool *pool = mem_zalloc(sizeof(*pool));
    int errnum;

    pool->last = &pool->first;
    pool->limit = o->limit > 0 ? o->limit : POOL_LIMIT;
    pool->active_max = o->active > 0 ? o->active : core_count();
    pool->stack_size = o->stack_size > 0 ? o->stack_size : POOL_STACK_SIZE;
    pool->idle_time = o->idle > 0 ? o->idle : POOL_IDLE_NS;
    pool->lazy = o->lazy;
    init_locks(pool);
    if (pool->lazy)
        return pool;
    (void)pthread_mutex_lock(&pool->mutex);
    errnum = start_worker(pool);
    (void)pthread_mutex_unlock(&pool->mutex);
    if (errnum == 0)
        return pool;
    destroy_pool(pool);
    err_sys(err, errnum, "start a worker");
    return NULL;
}

static size_t drop_jobs(struct pool *pool)
{
    size_t count = 0;

    for (; pool->first; count++)
        free(take_pool_job(pool));
    return count;
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    (void)pthread_mutex_lock(&pool->mutex);
    pool->closing = true;
    (void)drop_jobs(pool);
    (void)pthread_cond_broadcast(&pool->work);
    while (pool->workers > 0)
        (void)pthread_cond_wait(&pool->calm, &pool->mutex);
    (void)drop_jobs(pool); /* from jobs that were running */
    join_ended(pool);
    (void)pthread_mutex_unlock(&pool->mutex);
    destroy_pool(pool);
}

void pool_submit(struct pool *pool, pool_fn *fn, void *arg)
{
    struct pool_job *job = mem_alloc(sizeof(*job));

    *job = (struct pool_job){ .fn = fn, .arg = arg };
    (void)pthread_mutex_lock(&pool->mutex);
    *pool->last = job;
    pool->last = &job->next;
    find_worker(pool);
    if (pool->workers == 0 && pool->first) /* the thread limit is reached */
        run_pool_job(pool, take_pool_job(pool));
    (void)pthread_mutex_unlock(&pool->mutex);
}

void pool_drain(struct pool *pool)
{
    (void)pthread_mutex_lock(&pool->mutex);
    while (pool->first || pool->running > 0)
        (void)pthread_cond_wait(&pool->calm, &pool->mutex);
    (void)pthread_mutex_unlock(&pool->mutex);
}

void pool_watch_blocks(pool_fn *fn, void *arg)
{
    block_watcher.fn = fn;
    block_watcher.arg = arg;
}

void pool_join(struct pool *pool)
{
    (void)pthread_mutex_lock(&pool->mutex);
    pool->guests++;
    (void)pthread_mutex_unlock(&pool->mutex);
    joined_pool = pool;
}

void pool_leave(void)
{
    struct pool *pool = joined_pool;

    if (!pool)
        return;
    joined_pool = NULL;
    (void)pthread_mutex_lock(&pool->mutex);
    pool->guests--;
    find_worker(pool);
    (void)pthread_mutex_unlock(&pool->mutex);
}

static void begin_pool_block(struct pool *pool)
{
    if (!pool)
        return;
    (void)pthread_mutex_lock(&pool->mutex);
    pool->blocked++;
    find_worker(pool);
    (void)pthread_mutex_unlock(&pool->mutex);
}

static void end_pool_block(struct pool *pool)
{
    if (!pool)
        return;
    (void)pthread_mutex_lock(&pool->mutex);
    pool->blocked--;
    (void)pthread_mutex_unlock(&pool->mutex);
}

void pool_block_begin(void)
{
    if (block_depth++ > 0)
        return;
    if (block_watcher.fn)
        block_watcher.fn(block_watcher.arg); /* which may join */
    begin_pool_block(own_pool);
    begin_pool_block(joined_pool);
}

void pool_block_end(void)
{
    if (--block_depth > 0)
        return;
    end_pool_block(own_pool);
    end_pool_block(joined_pool);
}

struct pool_count pool_count(struct pool *pool)
{
    struct pool_count count;

    (void)pthread_mutex_lock(&pool->mutex);
    count = (struct pool_count){
        .workers = pool->workers,
        .blocked = pool->blocked,
        .idle = pool->idle,
        .peak = pool->peak,
    };
    (void)pthread_mutex_unlock(&pool->mutex);
    return count;
}
