#include "fleet/master/files/round_queue.h"

#include <stdlib.h>

#include "core/base/mem.h"

void round_cause_drop(struct publisher_cause *cause)
{
    free((void *)(uintptr_t)cause->by);
    free((void *)(uintptr_t)cause->note);
}

void round_cause_copy(struct publisher_cause *cause, const struct publisher_cause *from)
{
    round_cause_drop(cause);
    *cause = (struct publisher_cause){ .by = mem_strdup(from ? from->by : ""),
                                       .restored = from ? from->restored : 0,
                                       .note = mem_strdup(from ? from->note : "") };
}

void round_queue_add(struct round_queue *queue, const struct round_waiter *waiter, bool is_late)
{
    if (is_late)
        VEC_PUSH(&queue->later, *waiter);
    else
        VEC_PUSH(&queue->now, *waiter);
}

struct round_wishes round_queue_read(const struct round_queue *queue)
{
    struct round_wishes wishes = { .only_tells = queue->now.n > 0 };

    VEC_EACH (&queue->now, waiter) {
        wishes.is_forced = wishes.is_forced || waiter->wish.force;
        wishes.must_tell = wishes.must_tell || waiter->is_tell;
        wishes.only_tells = wishes.only_tells && waiter->is_tell;
        if (waiter->wish.force || waiter->wish.cause)
            wishes.mode = PUBLISHER_CHECK_REPORT;
        else if (waiter->wish.mode > wishes.mode)
            wishes.mode = waiter->wish.mode;
        wishes.cause = wishes.cause ? wishes.cause : waiter->wish.cause;
    }
    return wishes;
}

bool round_queue_answer(struct round_queue *queue, const struct publisher_outcome *outcome)
{
    struct round_waiter *waiters = queue->now.p;
    const size_t count = queue->now.n;

    queue->now.p = NULL;
    queue->now.n = queue->now.cap = 0;
    VEC_EACH (&queue->later, waiter)
        VEC_PUSH(&queue->now, *waiter);
    vec_clear(&queue->later);
    for (size_t i = 0; i < count; i++)
        waiters[i].wish.fn(waiters[i].wish.self, outcome);
    free(waiters);
    return queue->now.n > 0;
}

void round_queue_close(struct round_queue *queue, const struct publisher_outcome *outcome)
{
    if (round_queue_answer(queue, outcome))
        (void)round_queue_answer(queue, outcome);
}

void round_queue_done(struct round_queue *queue)
{
    vec_done(&queue->now);
    vec_done(&queue->later);
}
