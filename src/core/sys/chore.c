#include "core/sys/chore.h"

#include <time.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/clock.h"
#include "core/sys/pool.h"

/* Readers of text go as deep as their limits allow. */
#define STACK_SIZE ((size_t)1 << 20)

int chores_open_shared(struct chores *chores, struct loop *loop, struct pool *pool, struct err *err)
{
    *chores = (struct chores){ 0 };
    if (errands_open(&chores->out, loop, err) < 0)
        return -1;
    (void)pthread_mutex_init(&chores->mutex, NULL);
    (void)pthread_cond_init(&chores->finished, NULL);
    chores->pool = pool;
    chores->shares_pool = true;
    return 0;
}

int chores_open_workers(struct chores *chores, struct loop *loop, unsigned workers, struct err *err)
{
    const struct pool_options options = {
        .limit = workers, .active = workers, .stack_size = STACK_SIZE, .lazy = true
    };
    struct pool *pool = pool_new(&options, err);

    *chores = (struct chores){ 0 };
    if (!pool)
        return -1;
    if (chores_open_shared(chores, loop, pool, err) < 0) {
        pool_free(pool);
        return -1;
    }
    chores->shares_pool = false;
    return 0;
}

int chores_open(struct chores *chores, struct loop *loop, struct err *err)
{
    return chores_open_workers(chores, loop, CHORES_MAX, err);
}

static void wait_for_all(struct chores *chores)
{
    (void)pthread_mutex_lock(&chores->mutex);
    while (chores->under_way > 0)
        (void)pthread_cond_wait(&chores->finished, &chores->mutex);
    (void)pthread_mutex_unlock(&chores->mutex);
}

void chores_close(struct chores *chores)
{
    if (!chores->pool)
        return;
    wait_for_all(chores);
    errands_close(&chores->out);
    if (!chores->shares_pool)
        pool_free(chores->pool);
    (void)pthread_cond_destroy(&chores->finished);
    (void)pthread_mutex_destroy(&chores->mutex);
    *chores = (struct chores){ 0 };
}

static void on_done(struct errand *errand)
{
    struct chore *chore = container_of(errand, struct chore, errand);

    chore->done(chore); /* it may be gone now */
}

static void run_chore(void *arg)
{
    struct chore *chore = arg;
    struct chores *home = chore->home;

    chore->work(chore);
    (void)pthread_mutex_lock(&home->mutex);
    chore->finished = true;
    (void)pthread_cond_broadcast(&home->finished);
    (void)pthread_mutex_unlock(&home->mutex);
    errand_send(&home->out, &chore->errand, on_done); /* the chore may be gone now */
    (void)pthread_mutex_lock(&home->mutex);
    home->under_way--;
    (void)pthread_cond_broadcast(&home->finished);
    (void)pthread_mutex_unlock(&home->mutex);
}

void chore_begin(struct chores *chores, struct chore *chore, chore_fn *work, chore_fn *done)
{
    chore->home = chores;
    chore->work = work;
    chore->done = done;
    chore->finished = false;
    (void)pthread_mutex_lock(&chores->mutex);
    chores->under_way++;
    (void)pthread_mutex_unlock(&chores->mutex);
    pool_submit(chores->pool, run_chore, chore);
}

void chore_wait(struct chore *chore)
{
    struct chores *home = chore->home;

    (void)pthread_mutex_lock(&home->mutex);
    while (!chore->finished)
        (void)pthread_cond_wait(&home->finished, &home->mutex);
    (void)pthread_mutex_unlock(&home->mutex);
}

bool chore_wait_for(struct chore *chore, int64_t ns)
{
    struct chores *home = chore->home;
    const int64_t until = clock_after(clock_real(), ns);
    const struct timespec deadline = { until / CLOCK_SECOND, until % CLOCK_SECOND };
    bool finished;
    int rc = 0;

    (void)pthread_mutex_lock(&home->mutex);
    while (!chore->finished && rc == 0)
        rc = pthread_cond_clockwait(&home->finished, &home->mutex, CLOCK_MONOTONIC, &deadline);
    finished = chore->finished;
    (void)pthread_mutex_unlock(&home->mutex);
    return finished;
}
