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

/* How fast a cancel is noticed. */
#define SLICE_NS (CLOCK_SECOND / 10)

/* Owned by the waiting worker and the answering loop. */
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

static void release_query(struct blocking_query *query)
{
    if (atomic_fetch_sub(&query->holders, 1) > 1)
        return;
    (void)pthread_mutex_destroy(&query->mutex);
    (void)pthread_cond_destroy(&query->answered);
    buf_done(&query->request);
    buf_done(&query->reply);
    free(query);
}

void blocking_query_answer(struct blocking_query *query, struct str reply, const char *error)
{
    (void)pthread_mutex_lock(&query->mutex);
    query->is_done = true;
    buf_add_str(&query->reply, reply);
    (void)snprintf(query->error, sizeof(query->error), "%s", error);
    (void)pthread_cond_signal(&query->answered);
    (void)pthread_mutex_unlock(&query->mutex);
    release_query(query);
}

static void on_query_message(struct loop_message *message)
{
    struct blocking_query *query = container_of(message, struct blocking_query, loop_message);

    query->fn(query, query->self, buf_view(&query->request));
}

static struct blocking_query *new_query(const struct blocking_query_question *question)
{
    struct blocking_query *query = mem_zalloc(sizeof(*query));

    query->fn = question->fn;
    query->self = question->self;
    query->request = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    query->reply = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    buf_add_str(&query->request, question->request);
    (void)pthread_mutex_init(&query->mutex, NULL);
    (void)pthread_cond_init(&query->answered, NULL);
    atomic_init(&query->holders, 2);
    return query;
}

/* Wait until it is answered, or too late. Called with the mutex held. */
static void wait_for_answer(struct blocking_query *query,
                            const struct blocking_query_question *question)
{
    const int64_t end = clock_after(clock_now(), question->timeout);

    while (!query->is_done && clock_now() < end &&
           !(question->cancel && cancel_is_raised(question->cancel))) {
        const int64_t until = clock_wall() + SLICE_NS;
        const struct timespec at = { .tv_sec = until / CLOCK_SECOND,
                                     .tv_nsec = until % CLOCK_SECOND };

        (void)pthread_cond_timedwait(&query->answered, &query->mutex, &at);
    }
}

int blocking_query_ask(struct loop_messages *messages,
                       const struct blocking_query_question *question, struct arena *arena,
                       struct str *ret_reply, struct err *err)
{
    struct blocking_query *query = new_query(question);
    int rc = 0;

    loop_message_send(messages, &query->loop_message, on_query_message);
    (void)pthread_mutex_lock(&query->mutex);
    wait_for_answer(query, question);
    if (!query->is_done || query->error[0])
        rc = err_set(err, ERR_TIMEOUT, "%s", query->error[0] ? query->error : "no answer in time");
    else
        *ret_reply = arena_str(arena, buf_view(&query->reply));
    (void)pthread_mutex_unlock(&query->mutex);
    release_query(query);
    return rc;
}
