#include "core/sys/background_task.h"

#include <time.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/clock.h"
#include "core/sys/pool.h"

/* Readers of text go as deep as their limits allow. */
#define STACK_SIZE ((size_t)1 << 20)

int background_tasks_open_shared(struct background_tasks *background_tasks, struct loop *loop,
                                 struct pool *pool, struct err *err)
{
    *background_tasks = (struct background_tasks){ 0 };
    if (loop_messages_open(&background_tasks->out, loop, err) < 0)
        return -1;
    (void)pthread_mutex_init(&background_tasks->mutex, NULL);
    (void)pthread_cond_init(&background_tasks->finished, NULL);
    background_tasks->pool = pool;
    background_tasks->shares_pool = true;
    return 0;
}

int background_tasks_open_workers(struct background_tasks *background_tasks, struct loop *loop,
                                  unsigned workers, struct err *err)
{
    const struct pool_options options = {
        .limit = workers, .active = workers, .stack_size = STACK_SIZE, .lazy = true
    };
    struct pool *pool = pool_new(&options, err);

    *background_tasks = (struct background_tasks){ 0 };
    if (!pool)
        return -1;
    if (background_tasks_open_shared(background_tasks, loop, pool, err) < 0) {
        pool_free(pool);
        return -1;
    }
    background_tasks->shares_pool = false;
    return 0;
}

int background_tasks_open(struct background_tasks *background_tasks, struct loop *loop,
                          struct err *err)
{
    return background_tasks_open_workers(background_tasks, loop, BACKGROUND_TASKS_MAX, err);
}

static void wait_for_tasks(struct background_tasks *background_tasks)
{
    (void)pthread_mutex_lock(&background_tasks->mutex);
    while (background_tasks->under_way > 0)
        (void)pthread_cond_wait(&background_tasks->finished, &background_tasks->mutex);
    (void)pthread_mutex_unlock(&background_tasks->mutex);
}

void background_tasks_close(struct background_tasks *background_tasks)
{
    if (!background_tasks->pool)
        return;
    wait_for_tasks(background_tasks);
    loop_messages_close(&background_tasks->out);
    if (!background_tasks->shares_pool)
        pool_free(background_tasks->pool);
    (void)pthread_cond_destroy(&background_tasks->finished);
    (void)pthread_mutex_destroy(&background_tasks->mutex);
    *background_tasks = (struct background_tasks){ 0 };
}

static void on_task_done(struct loop_message *loop_message)
{
    struct background_task *background_task =
        container_of(loop_message, struct background_task, loop_message);

    background_task->done(background_task); /* it may be gone now */
}

static void run_chore(void *arg)
{
    struct background_task *background_task = arg;
    struct background_tasks *home = background_task->home;

    background_task->work(background_task);
    (void)pthread_mutex_lock(&home->mutex);
    background_task->finished = true;
    (void)pthread_cond_broadcast(&home->finished);
    (void)pthread_mutex_unlock(&home->mutex);
    loop_message_send(&home->out, &background_task->loop_message,
                      on_task_done); /* the background task may be gone now */
    (void)pthread_mutex_lock(&home->mutex);
    home->under_way--;
    (void)pthread_cond_broadcast(&home->finished);
    (void)pthread_mutex_unlock(&home->mutex);
}

void background_task_begin(struct background_tasks *background_tasks,
                           struct background_task *background_task, background_task_fn *work,
                           background_task_fn *done)
{
    background_task->home = background_tasks;
    background_task->work = work;
    background_task->done = done;
    background_task->finished = false;
    (void)pthread_mutex_lock(&background_tasks->mutex);
    background_tasks->under_way++;
    (void)pthread_mutex_unlock(&background_tasks->mutex);
    pool_submit(background_tasks->pool, run_chore, background_task);
}

void background_task_wait(struct background_task *background_task)
{
    struct background_tasks *home = background_task->home;

    (void)pthread_mutex_lock(&home->mutex);
    while (!background_task->finished)
        (void)pthread_cond_wait(&home->finished, &home->mutex);
    (void)pthread_mutex_unlock(&home->mutex);
}

bool background_task_wait_for(struct background_task *background_task, int64_t ns)
{
    struct background_tasks *home = background_task->home;
    const int64_t until = clock_after(clock_real(), ns);
    const struct timespec deadline = { until / CLOCK_SECOND, until % CLOCK_SECOND };
    bool finished;
    int rc = 0;

    (void)pthread_mutex_lock(&home->mutex);
    while (!background_task->finished && rc == 0)
        rc = pthread_cond_clockwait(&home->finished, &home->mutex, CLOCK_MONOTONIC, &deadline);
    finished = background_task->finished;
    (void)pthread_mutex_unlock(&home->mutex);
    return finished;
}
