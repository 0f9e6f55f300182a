/*
 * background_task - blocking work for a loop, done by a worker.
 *
 *     struct request { struct background_task task; ... };
 *     background_tasks_open(&tasks, loop, err);
 *     background_task_begin(&tasks, &request->task, work, done);
 *
 * work(&request->task) runs in a worker, then done(&request->task) in the loop. Tasks run in
 * parallel, one in each worker; the others wait in a queue. Until `done` runs, everything that
 * `work` touches belongs to the worker.
 *
 * Memory: a task lives in its owner's struct until its `done`. Threads: everything here is for the
 * thread of the loop, except `work`.
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

/* Workers that may block on a disk, and workers that compute. */
#define BACKGROUND_TASKS_MAX       32
#define BACKGROUND_TASKS_COMPUTING 4

typedef void background_task_fn(struct background_task *task);

struct background_task {
    struct loop_message loop_message;
    struct background_tasks *home;
    background_task_fn *work, *done;
    bool finished; /* `work` has returned; under the mutex */
};

struct background_tasks {
    struct pool *pool; /* NULL: not open */
    bool shares_pool;
    struct loop_messages out;
    pthread_mutex_t mutex;
    pthread_cond_t finished;
    size_t under_way; /* begun, and not yet sent back to the loop; under the mutex */
};

/* With BACKGROUND_TASKS_MAX workers, or with `workers`. */
int background_tasks_open(struct background_tasks *tasks, struct loop *loop, struct err *err);
int background_tasks_open_workers(struct background_tasks *tasks, struct loop *loop,
                                  unsigned workers, struct err *err);
/* With the workers of another pool, which must outlive this. */
int background_tasks_open_shared(struct background_tasks *tasks, struct loop *loop,
                                 struct pool *pool, struct err *err);
/* Only after all tasks are done. Not open is fine. */
void background_tasks_close(struct background_tasks *tasks);

void background_task_begin(struct background_tasks *tasks, struct background_task *task,
                           background_task_fn *work, background_task_fn *done);
/* Wait until the work is finished, so that its owner may read the result; `done` still runs, in the
 * loop. */
void background_task_wait(struct background_task *task);
/* The same for at most `ns`. False: not finished. */
bool background_task_wait_for(struct background_task *task, int64_t ns);

#endif
