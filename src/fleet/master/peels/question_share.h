/*
 * question_share - how much of a master's time questions about targets may take.
 *
 * A question is answered in the loop, where nothing else happens meanwhile, and a regular
 * expression that backtracks can take long. So one question has QUESTION_TIME_NS, each asker a
 * share of time, and all peels together another: whoever has had it is refused until there is more.
 * What it may owe counts, too. A question counts for a tenth of a millisecond at least, so that
 * many small ones count as well. Time is that of the processor.
 *
 * The server says which peel asks. Whoever else asks
 * (commands, masters) shares one larger part, so that a peel that hides who it is takes no more.
 *
 *     wait = question_share_wait(&share, peel, now);          0: go on
 *     question_share_charge(&share, peel, used, now);         after the answer
 *
 * Pure: time is handed in. Threads: one.
 */
#ifndef FLEET_MASTER_PEELS_QUESTION_SHARE_H
#define FLEET_MASTER_PEELS_QUESTION_SHARE_H

#include <stdint.h>

#include "core/base/lru.h"
#include "core/base/str.h"

/* Of one question. */
#define QUESTION_TIME_NS       (INT64_C(50) * 1000000)
#define QUESTION_OTHER_TIME_NS (INT64_C(1000) * 1000000)
/* Bytes of one. */
#define QUESTION_SIZE_MAX ((size_t)64 << 10)

/* The least that a question counts for. */
#define QUESTION_LEAST_NS (INT64_C(100) * 1000)
/* One part of so many of a master's time: for a peel, for all of them, for all others; and how much
 * of it at once. */
#define QUESTION_PEEL_PART    20
#define QUESTION_PEELS_PART   5
#define QUESTION_OTHERS_PART  2
#define QUESTION_PEEL_BURST   (INT64_C(200) * 1000000)
#define QUESTION_PEELS_BURST  (INT64_C(1000) * 1000000)
#define QUESTION_OTHERS_BURST (INT64_C(4000) * 1000000)
#define QUESTION_PEELS_MAX    5000 /* that are known at once */

/* When all that was used will have been earned; clock_now. */
struct question_account {
    int64_t even_at;
};

struct question_share {
    struct lru each; /* by peel */
    struct question_account peels, others;
};

void question_share_init(struct question_share *share);
void question_share_done(struct question_share *share);

/* How long `peel` has to wait before it may ask, in nanoseconds; 0: not at all. An empty name: it
 * is not a peel. */
int64_t question_share_wait(struct question_share *share, struct str peel, int64_t now);
/* It has asked, and the answer took so long. */
void question_share_charge(struct question_share *share, struct str peel, int64_t used,
                           int64_t now);

#endif
