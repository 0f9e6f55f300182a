#include "core/sys/errand.h"

#include <pthread.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "test.h"

#define THREADS 4
#define EACH    500

struct sum {
    struct errands errands;
    struct loop *loop;
    int last[THREADS], left;
};

struct step {
    struct errand errand;
    struct sum *sum;
    int thread, number;
};

static void on_step(struct errand *errand)
{
    struct step *step = container_of(errand, struct step, errand);
    struct sum *sum = step->sum;

    CHECK_INT(step->number, ++sum->last[step->thread]); /* in order */
    if (--sum->left == 0)
        loop_stop(sum->loop);
}

static struct step steps[THREADS][EACH];

static void *send_all(void *self)
{
    struct step *own = self;

    for (int i = 0; i < EACH; i++)
        errand_send(&own[i].sum->errands, &own[i].errand, on_step);
    return NULL;
}

TEST(errands_of_many_threads_run_in_the_loop_each_once_and_in_order)
{
    struct sum sum = { .left = THREADS * EACH };
    pthread_t threads[THREADS];
    struct err err;

    sum.loop = loop_new(&err);
    CHECK(sum.loop);
    CHECK_INT(errands_open(&sum.errands, sum.loop, &err), 0);
    for (int t = 0; t < THREADS; t++) {
        for (int i = 0; i < EACH; i++)
            steps[t][i] = (struct step){ .sum = &sum, .thread = t, .number = i + 1 };
        CHECK_INT(pthread_create(&threads[t], NULL, send_all, steps[t]), 0);
    }
    loop_run(sum.loop);
    for (int t = 0; t < THREADS; t++) {
        CHECK_INT(pthread_join(threads[t], NULL), 0);
        CHECK_INT(sum.last[t], EACH);
    }
    errands_close(&sum.errands);
    loop_free(sum.loop);
}

TEST(errands_that_are_there_run_before_the_box_closes)
{
    struct sum sum = { .left = 3 };
    struct step step = { .sum = &sum, .number = 1 };
    struct err err;

    sum.loop = loop_new(&err);
    CHECK_INT(errands_open(&sum.errands, sum.loop, &err), 0);
    errand_send(&sum.errands, &step.errand, on_step);
    errands_close(&sum.errands);
    CHECK_INT(sum.left, 2);
    loop_free(sum.loop);
}
