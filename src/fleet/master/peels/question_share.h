/*
 * question_share - limits the time that a master spends on questions about targets.
 *
 * A question blocks the loop, and a backtracking regular expression can take long. So each question
 * has QUESTION_TIME_NS, and each asker, and all peels together, have a share of CPU time: an asker
 * that has used it up is refused until it has earned more. Debts count. A question is charged at
 * least a tenth of a millisecond, so that many small ones add up.
 *
 * The server identifies peels. All other askers (commands, masters) share one larger part, so that
 * a peel gains nothing by hiding its identity.
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

/* Limit per question. */
#define QUESTION_TIME_NS       (INT64_C(50) * 1000000)
#define QUESTION_OTHER_TIME_NS (INT64_C(1000) * 1000000)
/* Maximum size of a question. */
#define QUESTION_SIZE_MAX ((size_t)64 << 10)

/* Minimum charge per question. */
#define QUESTION_LEAST_NS (INT64_C(100) * 1000)
/* Shares of a master's time, as 1/n: per peel, for all peels, for all others; and the burst. */
#define QUESTION_PEEL_PART    20
#define QUESTION_PEELS_PART   5
#define QUESTION_OTHERS_PART  2
#define QUESTION_PEEL_BURST   (INT64_C(200) * 1000000)
#define QUESTION_PEELS_BURST  (INT64_C(1000) * 1000000)
#define QUESTION_OTHERS_BURST (INT64_C(4000) * 1000000)
#define QUESTION_PEELS_MAX    5000 /* remembered at once */

/* When its debt is paid; clock_now. */
struct question_account {
    int64_t even_at;
};

struct question_share {
    struct lru each; /* by peel */
    struct question_account peels, others;
};

void question_share_init(struct question_share *share);
void question_share_done(struct question_share *share);

/* Nanoseconds until `peel` may ask; 0: now. An empty name: not a peel. */
int64_t question_share_wait(struct question_share *share, struct str peel, int64_t now);
/* Charge the time that an answer took. */
void question_share_charge(struct question_share *share, struct str peel, int64_t used,
                           int64_t now);

#endif
