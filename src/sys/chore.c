#include "sys/chore.h"

#include "base/err.h"
#include "base/mem.h"
#include "sys/pool.h"

/* Readers of text go as deep as their limits allow. */
#define STACK_SIZE ((size_t)1 << 20)

int chores_open_workers(struct chores *chores, struct loop *loop, unsigned workers, struct err *err)
{
    const struct pool_options options = {
        .limit = workers, .active = workers, .stack_size = STACK_SIZE, .lazy = true
    };

    *chores = (struct chores){ 0 };
    if (errands_open(&chores->out, loop, err) < 0)
        return -1;
    (void)pthread_mutex_init(&chores->mutex, NULL);
    (void)pthread_cond_init(&chores->finished, NULL);
    chores->pool = pool_new(&options, err);
    if (chores->pool)
        return 0;
    errands_close(&chores->out);
    return -1;
}

int chores_open(struct chores *chores, struct loop *loop, struct err *err)
{
    return chores_open_workers(chores, loop, CHORES_MAX, err);
}

void chores_close(struct chores *chores)
{
    if (!chores->pool)
        return;
    pool_drain(chores->pool);
    errands_close(&chores->out);
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
    errand_send(&home->out, &chore->errand, on_done);
}

void chore_begin(struct chores *chores, struct chore *chore, chore_fn *work, chore_fn *done)
{
    chore->home = chores;
    chore->work = work;
    chore->done = done;
    chore->finished = false;
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
