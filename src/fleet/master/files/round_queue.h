/*
 * round_queue - the waiters for rounds of a publisher, and their wishes.
 *
 * A round serves all waiters that were queued before it began. Later ones, including those added
 * while the others are called, wait for the next round.
 *
 *     round_queue_add... -> round_queue_read -> the round -> round_queue_answer: there is another
 *
 * A cause applies only to the round that serves its waiter.
 *
 * Memory: the lists. Threads: one.
 */
#ifndef FLEET_MASTER_FILES_ROUND_QUEUE_H
#define FLEET_MASTER_FILES_ROUND_QUEUE_H

#include <stdbool.h>

#include "core/base/vec.h"
#include "fleet/master/files/publisher.h"

/* A waiter for the end of a round. */
struct round_waiter {
    struct publisher_wish wish;
    bool is_tell; /* a new number is enough */
};

struct round_queue {
    VEC(struct round_waiter) now, later;
};

/* The combined wishes of a round. */
struct round_wishes {
    bool is_forced;
    bool must_tell;                      /* write a new number even without changes */
    bool only_tells;                     /* only the number */
    const struct publisher_cause *cause; /* the first one given; NULL: none */
    enum publisher_check_mode mode;      /* the last one of the list that is wanted */
};

/* Set to a copy; `from` may be NULL. */
void round_cause_copy(struct publisher_cause *cause, const struct publisher_cause *from);
void round_cause_drop(struct publisher_cause *cause);

/* `is_late`: a round is under way. */
void round_queue_add(struct round_queue *queue, const struct round_waiter *waiter, bool is_late);
struct round_wishes round_queue_read(const struct round_queue *queue);
/* Call the waiters of the round; they may add others. Returns whether waiters remain for the next
 * one. */
bool round_queue_answer(struct round_queue *queue, const struct publisher_outcome *outcome);
/* No round follows: call all. */
void round_queue_close(struct round_queue *queue, const struct publisher_outcome *outcome);
void round_queue_done(struct round_queue *queue);

#endif
