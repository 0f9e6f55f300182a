#include "core/sys/background_task.h"

#include <time.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/clock.h"
#include "core/sys/pool.h"

/* As deep as the limits of text readers allow. */
#define STACK_SIZE ((size_t)1 << 20)

int background_tasks_open_shared(struct background_tasks *tasks, struct loop *loop,
                                 struct pool *pool, struct err *err)
{
    *tasks = (struct background_tasks){ 0 };
    if (loop_messages_open(&tasks->out, loop, err) < 0)
        return -1;
    (void)pthread_mutex_init(&tasks->mutex, NULL);
    (void)pthread_cond_init(&tasks->finished, NULL);
    tasks->pool = pool;
    tasks->shares_pool = true;
    return 0;
}

int background_tasks_open_workers(struct background_tasks *tasks, struct loop *loop,
                                  unsigned workers, struct err *err)
{
    const struct pool_options options = {
        .limit = workers, .active = workers, .stack_size = STACK_SIZE, .lazy = true
    };
    struct pool *pool = pool_new(&options, err);

    *tasks = (struct background_tasks){ 0 };
    if (!pool)
        return -1;
    if (background_tasks_open_shared(tasks, loop, pool, err) < 0) {
        pool_free(pool);
        return -1;
    }
    tasks->shares_pool = false;
    return 0;
}

int background_tasks_open(struct background_tasks *tasks, struct loop *loop, struct err *err)
{
    return background_tasks_open_workers(tasks, loop, BACKGROUND_TASKS_MAX, err);
}

static void wait_for_tasks(struct background_tasks *tasks)
{
    (void)pthread_mutex_lock(&tasks->mutex);
    while (tasks->under_way > 0)
        (void)pthread_cond_wait(&tasks->finished, &tasks->mutex);
    (void)pthread_mutex_unlock(&tasks->mutex);
}

void background_tasks_close(struct background_tasks *tasks)
{
    if (!tasks->pool)
        return;
    wait_for_tasks(tasks);
    loop_messages_close(&tasks->out);
    if (!tasks->shares_pool)
        pool_free(tasks->pool);
    (void)pthread_cond_destroy(&tasks->finished);
    (void)pthread_mutex_destroy(&tasks->mutex);
    *tasks = (struct background_tasks){ 0 };
}

static void on_task_done(struct loop_message *message)
{
    struct background_task *task = container_of(message, struct background_task, loop_message);

    task->done(task); /* it may be gone now */
}

static void run_background_task(void *arg)
{
    struct background_task *task = arg;
    struct background_tasks *home = task->home;

    task->work(task);
    (void)pthread_mutex_lock(&home->mutex);
    task->finished = true;
    (void)pthread_cond_broadcast(&home->finished);
    (void)pthread_mutex_unlock(&home->mutex);
    loop_message_send(&home->out, &task->loop_message, on_task_done); /* it may be gone now */
    (void)pthread_mutex_lock(&home->mutex);
    home->under_way--;
    (void)pthread_cond_broadcast(&home->finished);
    (void)pthread_mutex_unlock(&home->mutex);
}

void background_task_begin(struct background_tasks *tasks, struct background_task *task,
                           background_task_fn *work, background_task_fn *done)
{
    task->home = tasks;
    task->work = work;
    task->done = done;
    task->finished = false;
    (void)pthread_mutex_lock(&tasks->mutex);
    tasks->under_way++;
    (void)pthread_mutex_unlock(&tasks->mutex);
    pool_submit(tasks->pool, run_background_task, task);
}

void background_task_wait(struct background_task *task)
{
    struct background_tasks *home = task->home;

    (void)pthread_mutex_lock(&home->mutex);
    while (!task->finished)
        (void)pthread_cond_wait(&home->finished, &home->mutex);
    (void)pthread_mutex_unlock(&home->mutex);
}

bool background_task_wait_for(struct background_task *task, int64_t ns)
{
    struct background_tasks *home = task->home;
    const int64_t until = clock_after(clock_real(), ns);
    const struct timespec deadline = { until / CLOCK_SECOND, until % CLOCK_SECOND };
    bool finished;
    int rc = 0;

    (void)pthread_mutex_lock(&home->mutex);
    while (!task->finished && rc == 0)
        rc = pthread_cond_clockwait(&home->finished, &home->mutex, CLOCK_MONOTONIC, &deadline);
    finished = task->finished;
    (void)pthread_mutex_unlock(&home->mutex);
    return finished;
}
