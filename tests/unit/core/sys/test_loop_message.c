#include "core/sys/loop_message.h"

#include <pthread.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "test.h"

#define THREADS 4
#define EACH    500

struct sum {
    struct loop_messages loop_messages;
    struct loop *loop;
    int last[THREADS], left;
};

struct step {
    struct loop_message loop_message;
    struct sum *sum;
    int thread, number;
};

static void on_step(struct loop_message *loop_message)
{
    struct step *step = container_of(loop_message, struct step, loop_message);
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
        loop_message_send(&own[i].sum->loop_messages, &own[i].loop_message, on_step);
    return NULL;
}

TEST(errands_of_many_threads_run_in_the_loop_each_once_and_in_order)
{
    struct sum sum = { .left = THREADS * EACH };
    pthread_t threads[THREADS];
    struct err err;

    sum.loop = loop_new(&err);
    CHECK(sum.loop);
    CHECK_INT(loop_messages_open(&sum.loop_messages, sum.loop, &err), 0);
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
    loop_messages_close(&sum.loop_messages);
    loop_free(sum.loop);
}

TEST(errands_that_are_there_run_before_the_box_closes)
{
    struct sum sum = { .left = 3 };
    struct step step = { .sum = &sum, .number = 1 };
    struct err err;

    sum.loop = loop_new(&err);
    CHECK_INT(loop_messages_open(&sum.loop_messages, sum.loop, &err), 0);
    loop_message_send(&sum.loop_messages, &step.loop_message, on_step);
    loop_messages_close(&sum.loop_messages);
    CHECK_INT(sum.left, 2);
    loop_free(sum.loop);
}
