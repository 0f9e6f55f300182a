/*
 * round_queue - those who wait for rounds of a publisher, and what they want of them.
 *
 * A round serves all who came before it began; who comes while it is under way waits for the next
 * one, which begins after it.
 *
 *     round_queue_add... -> round_queue_read -> the round -> round_queue_answer
 *                        -> round_queue_next: there is another one
 *
 * Memory: the lists. Threads: one.
 */
#ifndef MASTER_FILES_ROUND_QUEUE_H
#define MASTER_FILES_ROUND_QUEUE_H

#include <stdbool.h>

#include "base/vec.h"
#include "master/files/publisher.h"

/* Somebody who waits for the end of a round. */
struct round_waiter {
    publisher_fn *fn;
    void *self;
    bool force;
    bool is_tell; /* a new number is enough */
};

struct round_queue {
    VEC(struct round_waiter) now, later;
};

/* What those of a round want together. */
struct round_wishes {
    bool is_forced;
    bool must_tell;  /* a new number, whether something has changed or not */
    bool only_tells; /* and nothing else */
};

/* `is_late`: a round is under way. */
void round_queue_add(struct round_queue *queue, const struct round_waiter *waiter, bool is_late);
struct round_wishes round_queue_read(const struct round_queue *queue);
/* Call those of the round; they may add others. */
void round_queue_answer(struct round_queue *queue, const struct publisher_outcome *outcome);
/* Those who came later are those of the next round. False: there are none. */
bool round_queue_next(struct round_queue *queue);
/* No round follows: call all. */
void round_queue_close(struct round_queue *queue, const struct publisher_outcome *outcome);
void round_queue_done(struct round_queue *queue);

#endif
