/*
 * chore - blocking work for a loop, done by a worker.
 *
 *     struct job { struct chore chore; ... };
 *     chores_open(&chores, loop, err);
 *     chore_begin(&chores, &job->chore, work, done);
 *
 * work(&job->chore) runs in a worker, then done(&job->chore) in the loop. Chores that are under
 * way at once run side by side, as many as there are workers; the rest wait for their turn. Until
 * `done` runs, what `work` touches belongs to the worker.
 *
 * Memory: a chore lives in its owner's struct until its `done`. Threads: all of this is for the
 * loop's thread, except `work`.
 */
#ifndef CORE_SYS_CHORE_H
#define CORE_SYS_CHORE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/sys/errand.h"

struct chore;
struct chores;
struct err;
struct loop;
struct pool;

/* Workers that may wait for a disk, and workers that compute. */
#define CHORES_MAX       32
#define CHORES_COMPUTING 4

typedef void chore_fn(struct chore *chore);

struct chore {
    struct errand errand;
    struct chores *home;
    chore_fn *work, *done;
    bool finished; /* the work is; under the mutex */
};

struct chores {
    struct pool *pool; /* NULL: not open */
    bool shares_pool;
    struct errands out;
    pthread_mutex_t mutex;
    pthread_cond_t finished;
    size_t under_way; /* begun, and not sent back to the loop; under the mutex */
};

/* With CHORES_MAX workers, or with `workers`. */
int chores_open(struct chores *chores, struct loop *loop, struct err *err);
int chores_open_workers(struct chores *chores, struct loop *loop, unsigned workers,
                        struct err *err);
/* With workers that others use, too; the pool must outlive this. */
int chores_open_shared(struct chores *chores, struct loop *loop, struct pool *pool,
                       struct err *err);
/* After all chores are done. Not open is fine. */
void chores_close(struct chores *chores);

void chore_begin(struct chores *chores, struct chore *chore, chore_fn *work, chore_fn *done);
/* Wait until the work is finished, so that its owner may look at it; `done` still runs, from the
 * loop. */
void chore_wait(struct chore *chore);
/* The same for `ns` at most. False: it is not finished. */
bool chore_wait_for(struct chore *chore, int64_t ns);

#endif
