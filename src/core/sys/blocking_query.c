#include "core/sys/blocking_query.h"

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
#include "core/sys/loop_message.h"

/* How soon a cancel is noticed. */
#define SLICE_NS (CLOCK_SECOND / 10)

/* Held by the worker that waits and by the loop that answers. */
struct blocking_query {
    struct loop_message loop_message;
    blocking_query_fn *fn;
    void *self;
    atomic_uint holders;
    struct buf request;
    pthread_mutex_t mutex;
    pthread_cond_t answered;
    bool is_done;
    struct buf reply; /* under the mutex */
    char error[ERR_TEXT_SIZE];
};

static void drop_inquiry(struct blocking_query *blocking_query)
{
    if (atomic_fetch_sub(&blocking_query->holders, 1) > 1)
        return;
    (void)pthread_mutex_destroy(&blocking_query->mutex);
    (void)pthread_cond_destroy(&blocking_query->answered);
    buf_done(&blocking_query->request);
    buf_done(&blocking_query->reply);
    free(blocking_query);
}

void blocking_query_answer(struct blocking_query *blocking_query, struct str reply,
                           const char *error)
{
    (void)pthread_mutex_lock(&blocking_query->mutex);
    blocking_query->is_done = true;
    buf_add_str(&blocking_query->reply, reply);
    (void)snprintf(blocking_query->error, sizeof(blocking_query->error), "%s", error);
    (void)pthread_cond_signal(&blocking_query->answered);
    (void)pthread_mutex_unlock(&blocking_query->mutex);
    drop_inquiry(blocking_query);
}

static void on_query_message(struct loop_message *loop_message)
{
    struct blocking_query *blocking_query =
        container_of(loop_message, struct blocking_query, loop_message);

    blocking_query->fn(blocking_query, blocking_query->self, buf_view(&blocking_query->request));
}

static struct blocking_query *new_inquiry(const struct blocking_query_question *question)
{
    struct blocking_query *blocking_query = mem_zalloc(sizeof(*blocking_query));

    blocking_query->fn = question->fn;
    blocking_query->self = question->self;
    blocking_query->request = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    blocking_query->reply = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    buf_add_str(&blocking_query->request, question->request);
    (void)pthread_mutex_init(&blocking_query->mutex, NULL);
    (void)pthread_cond_init(&blocking_query->answered, NULL);
    atomic_init(&blocking_query->holders, 2);
    return blocking_query;
}

/* Until it is answered, or too late. With the mutex. */
static void wait_for_answer(struct blocking_query *blocking_query,
                            const struct blocking_query_question *question)
{
    const int64_t end = clock_after(clock_now(), question->timeout);

    while (!blocking_query->is_done && clock_now() < end &&
           !(question->cancel && cancel_is_raised(question->cancel))) {
        const int64_t until = clock_wall() + SLICE_NS;
        const struct timespec at = { .tv_sec = until / CLOCK_SECOND,
                                     .tv_nsec = until % CLOCK_SECOND };

        (void)pthread_cond_timedwait(&blocking_query->answered, &blocking_query->mutex, &at);
    }
}

int blocking_query_ask(struct loop_messages *loop_messages,
                       const struct blocking_query_question *question, struct arena *arena,
                       struct str *ret_reply, struct err *err)
{
    struct blocking_query *blocking_query = new_inquiry(question);
    int rc = 0;

    loop_message_send(loop_messages, &blocking_query->loop_message, on_query_message);
    (void)pthread_mutex_lock(&blocking_query->mutex);
    wait_for_answer(blocking_query, question);
    if (!blocking_query->is_done || blocking_query->error[0])
        rc = err_set(err, ERR_TIMEOUT, "%s",
                     blocking_query->error[0] ? blocking_query->error : "no answer in time");
    else
        *ret_reply = arena_str(arena, buf_view(&blocking_query->reply));
    (void)pthread_mutex_unlock(&blocking_query->mutex);
    drop_inquiry(blocking_query);
    return rc;
}
