/*
 * export_policy - decides what to do after an attempt to send records.
 *
 * 2xx is success. A failed connection, a 5xx, 408, 425 or 429 is temporary: it is tried again, with
 * pauses that grow up to EXPORT_PAUSE_MAX, or as the server asks. Any other status refuses the
 * content: a batch is halved to find the bad record, which is dropped after EXPORT_TRIES.
 *
 * Pure: the caller supplies randomness. Threads: any.
 */
#ifndef FLEET_MASTER_EXPORT_EXPORT_POLICY_H
#define FLEET_MASTER_EXPORT_EXPORT_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT_TRIES           4
#define EXPORT_PAUSE_MIN       (INT64_C(1) * 1000000000)
#define EXPORT_PAUSE_MAX       (INT64_C(60) * 1000000000)
#define EXPORT_RETRY_AFTER_MAX (INT64_C(300) * 1000000000)

struct export_attempt {
    bool has_answer;
    int status;          /* of HTTP */
    int64_t retry_after; /* requested by the server; 0: none */
    size_t count;        /* of records */
    unsigned tries;      /* attempts with these records, including this one */
    uint64_t chance;     /* random */
};

enum export_verdict {
    EXPORT_SENT,
    EXPORT_AGAIN, /* all of them, after the pause */
    EXPORT_SPLIT, /* half of them, at once */
    EXPORT_GIVE_UP,
};

/* `ret_pause` is set for EXPORT_AGAIN. */
enum export_verdict export_judge(const struct export_attempt *attempt, int64_t *ret_pause);

#endif
