#include "core/sys/inquiry.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/errand.h"

/* How soon a cancel is noticed. */
#define SLICE_NS (CLOCK_SECOND / 10)

/* Held by the worker that waits and by the loop that answers. */
struct inquiry {
    struct errand errand;
    inquiry_fn *fn;
    void *self;
    atomic_uint holders;
    struct buf request;
    pthread_mutex_t mutex;
    pthread_cond_t answered;
    bool is_done;
    struct buf reply; /* under the mutex */
    char error[ERR_TEXT_SIZE];
};

static void drop_inquiry(struct inquiry *inquiry)
{
    if (atomic_fetch_sub(&inquiry->holders, 1) > 1)
        return;
    (void)pthread_mutex_destroy(&inquiry->mutex);
    (void)pthread_cond_destroy(&inquiry->answered);
    buf_done(&inquiry->request);
    buf_done(&inquiry->reply);
    free(inquiry);
}

void inquiry_answer(struct inquiry *inquiry, struct str reply, const char *error)
{
    (void)pthread_mutex_lock(&inquiry->mutex);
    inquiry->is_done = true;
    buf_add_str(&inquiry->reply, reply);
    (void)snprintf(inquiry->error, sizeof(inquiry->error), "%s", error);
    (void)pthread_cond_signal(&inquiry->answered);
    (void)pthread_mutex_unlock(&inquiry->mutex);
    drop_inquiry(inquiry);
}

static void on_inquiry(struct errand *errand)
{
    struct inquiry *inquiry = container_of(errand, struct inquiry, errand);

    inquiry->fn(inquiry, inquiry->self, buf_view(&inquiry->request));
}

static struct inquiry *new_inquiry(const struct inquiry_question *question)
{
    struct inquiry *inquiry = mem_zalloc(sizeof(*inquiry));

    inquiry->fn = question->fn;
    inquiry->self = question->self;
    inquiry->request = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    inquiry->reply = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    buf_add_str(&inquiry->request, question->request);
    (void)pthread_mutex_init(&inquiry->mutex, NULL);
    (void)pthread_cond_init(&inquiry->answered, NULL);
    atomic_init(&inquiry->holders, 2);
    return inquiry;
}

/* Until it is answered, or too late. With the mutex. */
static void wait_for_answer(struct inquiry *inquiry, const struct inquiry_question *question)
{
    const int64_t end = clock_after(clock_now(), question->timeout);

    while (!inquiry->is_done && clock_now() < end &&
           !(question->cancel && cancel_is_raised(question->cancel))) {
        const int64_t until = clock_wall() + SLICE_NS;
        const struct timespec at = { .tv_sec = until / CLOCK_SECOND,
                                     .tv_nsec = until % CLOCK_SECOND };

        (void)pthread_cond_timedwait(&inquiry->answered, &inquiry->mutex, &at);
    }
}

int inquiry_ask(struct errands *errands, const struct inquiry_question *question,
                struct arena *arena, struct str *ret_reply, struct err *err)
{
    struct inquiry *inquiry = new_inquiry(question);
    int rc = 0;

    errand_send(errands, &inquiry->errand, on_inquiry);
    (void)pthread_mutex_lock(&inquiry->mutex);
    wait_for_answer(inquiry, question);
    if (!inquiry->is_done || inquiry->error[0])
        rc = err_set(err, ERR_TIMEOUT, "%s",
                     inquiry->error[0] ? inquiry->error : "no answer in time");
    else
        *ret_reply = arena_str(arena, buf_view(&inquiry->reply));
    (void)pthread_mutex_unlock(&inquiry->mutex);
    drop_inquiry(inquiry);
    return rc;
}
