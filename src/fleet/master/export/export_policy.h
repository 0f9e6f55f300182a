/*
 * export_policy - what to do after an attempt to send records away.
 *
 * A 2xx is the end of it. Nobody there, a 5xx, 408, 425 or 429 may pass: it is tried again until it
 * does, with pauses that grow up to EXPORT_PAUSE_MAX, or as the server asks for. Any other answer
 * is about what was sent: a batch is cut in halves to find the record that is refused, and that one
 * is given up after EXPORT_TRIES.
 *
 * Pure: who asks brings the chance. Threads: any.
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
    int64_t retry_after; /* that the server asks for; 0: it does not */
    size_t count;        /* of records */
    unsigned tries;      /* of the same records, this one included */
    uint64_t chance;     /* any number */
};

enum export_verdict {
    EXPORT_SENT,
    EXPORT_AGAIN, /* the same, after the pause */
    EXPORT_SPLIT, /* half of them, at once */
    EXPORT_GIVE_UP,
};

/* `ret_pause` is set for EXPORT_AGAIN. */
enum export_verdict export_judge(const struct export_attempt *attempt, int64_t *ret_pause);

#endif
