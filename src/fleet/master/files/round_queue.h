/*
 * round_queue - those who wait for rounds of a publisher, and what they want of them.
 *
 * A round serves all who came before it began. Who comes while it is under way, or while others
 * are called at its end, waits for the next one, which begins after that.
 *
 *     round_queue_add... -> round_queue_read -> the round -> round_queue_answer: there is another
 *
 * A cause belongs to the round that serves who gave it, and to no other.
 *
 * Memory: the lists. Threads: one.
 */
#ifndef FLEET_MASTER_FILES_ROUND_QUEUE_H
#define FLEET_MASTER_FILES_ROUND_QUEUE_H

#include <stdbool.h>

#include "core/base/vec.h"
#include "fleet/master/files/publisher.h"

/* Somebody who waits for the end of a round. */
struct round_waiter {
    struct publisher_wish wish;
    bool is_tell; /* a new number is enough */
};

struct round_queue {
    VEC(struct round_waiter) now, later;
};

/* What those of a round want together. */
struct round_wishes {
    bool is_forced;
    bool must_tell;                      /* a new number, whether something has changed or not */
    bool only_tells;                     /* and nothing else */
    const struct publisher_cause *cause; /* the first one; NULL: none has one */
};

/* `is_late`: a round is under way. */
void round_queue_add(struct round_queue *queue, const struct round_waiter *waiter, bool is_late);
struct round_wishes round_queue_read(const struct round_queue *queue);
/* Call those of the round; they may add others. Who came later is of the next round then. False:
 * nobody did. */
bool round_queue_answer(struct round_queue *queue, const struct publisher_outcome *outcome);
/* No round follows: call all. */
void round_queue_close(struct round_queue *queue, const struct publisher_outcome *outcome);
void round_queue_done(struct round_queue *queue);

#endif
