/*
 * The calling thread starts with the tasks itself. Workers join when it blocks, or when the rest
 * takes longer than starting threads and sharing the file table with them: a level of unchanged
 * states needs none. When start and end are reported, the calling thread does only that.
 *
 * Each starting worker queues one more pool job for the rest; the pool starts it when a core is
 * free or a worker blocks. So exactly one job is waiting while tasks are left.
 */
#include "states/run/level_pool.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/pool.h"
#include "core/sys/quota.h"

/* How long the calling thread measures the tasks, in nanoseconds. */
#define ALONE_MIN (INT64_C(2) * 1000000)
/* Tasks with a longer estimate, by the pace so far, get workers. Two threads save half of the time,
 * and a quarter of that is lost to kernel locks. */
#define REST_MAX (INT64_C(4) * 1000000)

struct level_pool {
    struct level_pool_options options;
    struct pool *pool; /* created when workers are first needed */
    struct named_locks named_locks;
    struct mailbox box;
    bool has_box;
    struct level_pool_task *const *tasks;
    size_t count;
    atomic_size_t next;
    bool is_helped; /* in this run */
};

struct level_pool *level_pool_new(const struct level_pool_options *options, struct err *err)
{
    struct level_pool *level_pool = mem_zalloc(sizeof(*level_pool));

    level_pool->options = *options;
    named_locks_init(&level_pool->named_locks);
    if (options->tell && mailbox_init(&level_pool->box, 0, err) < 0) {
        level_pool_free(level_pool);
        return NULL;
    }
    level_pool->has_box = options->tell != NULL;
    return level_pool;
}

void level_pool_free(struct level_pool *level_pool)
{
    if (!level_pool)
        return;
    pool_free(level_pool->pool);
    named_locks_done(&level_pool->named_locks);
    if (level_pool->has_box)
        mailbox_done(&level_pool->box);
    free(level_pool);
}

static void post_to_worker(struct level_pool *level_pool, struct level_pool_mail *mail,
                           struct level_pool_task *task, bool ended)
{
    mail->task = task;
    mail->ended = ended;
    if (level_pool->has_box)
        (void)mailbox_post(&level_pool->box, &mail->mail); /* it has no limit and is open */
}

static void run_pool_task(struct level_pool *level_pool, struct level_pool_task *task)
{
    post_to_worker(level_pool, &task->begin, task, false);
    level_pool->options.run(level_pool->options.user, task);
    post_to_worker(level_pool, &task->end, task, true);
}

/* Run the task and those queued behind it, or leave it to the holder of the lock. */
static void take_task(struct level_pool *level_pool, struct level_pool_task *task)
{
    const char *named_lock = task->named_lock;
    struct named_lock_ticket *ticket = &task->ticket;

    if (!named_lock_enter(&level_pool->named_locks, named_lock, ticket))
        return;
    for (; ticket; ticket = named_lock_leave(&level_pool->named_locks, named_lock))
        run_pool_task(level_pool, container_of(ticket, struct level_pool_task, ticket));
}

static void run_pool_worker(void *self)
{
    struct level_pool *level_pool = self;
    size_t i = atomic_fetch_add(&level_pool->next, 1);

    if (i + 1 < level_pool->count)
        pool_submit(level_pool->pool, run_pool_worker, level_pool);
    for (; i < level_pool->count; i = atomic_fetch_add(&level_pool->next, 1))
        take_task(level_pool, level_pool->tasks[i]);
}

static void report_until_done(struct level_pool *level_pool)
{
    size_t ended = 0;

    while (ended < level_pool->count) {
        (void)mailbox_wait(&level_pool->box, CLOCK_NEVER);
        for (struct mail *mail = mailbox_take(&level_pool->box), *next; mail; mail = next) {
            const struct level_pool_mail *news = container_of(mail, struct level_pool_mail, mail);

            next = mail->next;
            level_pool->options.tell(level_pool->options.user, news->task, news->ended);
            ended += news->ended;
        }
    }
}

/* With few descriptors tasks wait for each other instead of failing. */
static unsigned find_limit(const struct level_pool *level_pool)
{
    const unsigned asked = level_pool->options.limit ? level_pool->options.limit : POOL_LIMIT;
    const unsigned most = quota_most();

    return asked < most ? asked : most;
}

/* False when there is no room for a thread. */
static bool make_pool(struct level_pool *level_pool, unsigned limit)
{
    const struct pool_options options = { .limit = limit };
    struct err ignored;

    if (!level_pool->pool)
        level_pool->pool = pool_new(&options, &ignored);
    return level_pool->pool;
}

/* The calling thread is one of the workers, unless it reports. */
static bool call_helpers(struct level_pool *level_pool)
{
    const unsigned working = level_pool->options.tell ? 0 : 1;
    unsigned limit;

    level_pool->is_helped = true;
    fd_limit_raise(); /* a thousand commands have thousands of pipes */
    limit = find_limit(level_pool);
    if (limit <= working || !make_pool(level_pool, limit - working))
        return false;
    if (working > 0)
        pool_join(level_pool->pool);
    pool_submit(level_pool->pool, run_pool_worker, level_pool);
    return true;
}

static void on_worker_block(void *self)
{
    struct level_pool *level_pool = self;

    if (!level_pool->is_helped && atomic_load(&level_pool->next) < level_pool->count)
        (void)call_helpers(level_pool);
}

/* No need for a worker. */
static void run_alone(struct level_pool *level_pool, struct level_pool_task *task)
{
    if (level_pool->options.tell)
        level_pool->options.tell(level_pool->options.user, task, false);
    level_pool->options.run(level_pool->options.user, task);
    if (level_pool->options.tell)
        level_pool->options.tell(level_pool->options.user, task, true);
}

/* Will the rest take long, at the pace so far? */
static bool is_long(int64_t spent, size_t done, size_t left)
{
    return spent > ALONE_MIN && spent / (int64_t)done * (int64_t)left > REST_MAX;
}

static void work_here(struct level_pool *level_pool)
{
    const int64_t began = clock_now();

    pool_watch_blocks(on_worker_block, level_pool);
    for (size_t i; (i = atomic_fetch_add(&level_pool->next, 1)) < level_pool->count;) {
        take_task(level_pool, level_pool->tasks[i]);
        if (!level_pool->is_helped &&
            is_long(clock_now() - began, i + 1, level_pool->count - i - 1))
            on_worker_block(level_pool);
    }
    pool_watch_blocks(NULL, NULL);
    pool_leave();
}

static void report_here(struct level_pool *level_pool)
{
    if (call_helpers(level_pool))
        report_until_done(level_pool);
    else /* no thread available: this one does it all */
        for (size_t i = 0; i < level_pool->count; i++)
            run_alone(level_pool, level_pool->tasks[i]);
}

void level_pool_run(struct level_pool *level_pool, struct level_pool_task *const *tasks,
                    size_t count)
{
    if (count == 1)
        run_alone(level_pool, tasks[0]);
    if (count <= 1)
        return;
    level_pool->tasks = tasks;
    level_pool->count = count;
    level_pool->is_helped = false;
    atomic_store(&level_pool->next, 0);
    if (level_pool->has_box)
        report_here(level_pool);
    else
        work_here(level_pool);
    if (level_pool->pool)
        pool_drain(level_pool->pool);
}
