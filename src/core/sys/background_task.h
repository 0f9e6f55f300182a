/*
 * background task - blocking work for a loop, done by a worker.
 *
 *     struct job { struct background_task background task; ... };
 *     background_tasks_open(&background tasks, loop, err);
 *     background_task_begin(&background tasks, &job->background task, work, done);
 *
 * work(&job->background task) runs in a worker, then done(&job->background task) in the loop.
 * Chores that are under way at once run side by side, as many as there are workers; the rest wait
 * for their turn. Until `done` runs, what `work` touches belongs to the worker.
 *
 * Memory: a background task lives in its owner's struct until its `done`. Threads: all of this is
 * for the loop's thread, except `work`.
 */
#ifndef CORE_SYS_BACKGROUND_TASK_H
#define CORE_SYS_BACKGROUND_TASK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/sys/loop_message.h"

struct background_task;
struct background_tasks;
struct err;
struct loop;
struct pool;

/* Workers that may wait for a disk, and workers that compute. */
#define BACKGROUND_TASKS_MAX       32
#define BACKGROUND_TASKS_COMPUTING 4

typedef void background_task_fn(struct background_task *background_task);

struct background_task {
    struct loop_message loop_message;
    struct background_tasks *home;
    background_task_fn *work, *done;
    bool finished; /* the work is; under the mutex */
};

struct background_tasks {
    struct pool *pool; /* NULL: not open */
    bool shares_pool;
    struct loop_messages out;
    pthread_mutex_t mutex;
    pthread_cond_t finished;
    size_t under_way; /* begun, and not sent back to the loop; under the mutex */
};

/* With BACKGROUND_TASKS_MAX workers, or with `workers`. */
int background_tasks_open(struct background_tasks *background_tasks, struct loop *loop,
                          struct err *err);
int background_tasks_open_workers(struct background_tasks *background_tasks, struct loop *loop,
                                  unsigned workers, struct err *err);
/* With workers that others use, too; the pool must outlive this. */
int background_tasks_open_shared(struct background_tasks *background_tasks, struct loop *loop,
                                 struct pool *pool, struct err *err);
/* After all background tasks are done. Not open is fine. */
void background_tasks_close(struct background_tasks *background_tasks);

void background_task_begin(struct background_tasks *background_tasks,
                           struct background_task *background_task, background_task_fn *work,
                           background_task_fn *done);
/* Wait until the work is finished, so that its owner may look at it; `done` still runs, from the
 * loop. */
void background_task_wait(struct background_task *background_task);
/* The same for `ns` at most. False: it is not finished. */
bool background_task_wait_for(struct background_task *background_task, int64_t ns);

#endif
