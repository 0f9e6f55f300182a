/*
 * fleet_answer - what one peel answered to a job, and how people and programs read it.
 *
 *     answer = (struct fleet_answer){ .peel = id, .error = "" };
 *     fleet_answer_take(&answer, arena, jid, payload) -> fleet_answer_status, fleet_answer_value
 *
 * The first real answer of a peel counts; it replaces one that a master made up.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_VIEW_ANSWER_H
#define FLEET_VIEW_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "fleet/wire/exec.h"

struct arena;
struct value;

struct fleet_answer {
    const char *peel; /* as on the wire */
    bool has_come, is_unreachable, success;
    bool is_queued;  /* unreachable, and a master keeps the job for it */
    bool is_overdue; /* the job has ended without a result of it */
    struct exec_response response;
    const char *error; /* "": none */
    int64_t duration;  /* of a job, in nanoseconds */
};

/* A return of a job, as it was published or stored. False: it is dropped, since it cannot be read,
 * claims to be from another peel or of another job, or another one counts. */
bool fleet_answer_take(struct fleet_answer *answer, struct arena *arena, struct str jid,
                       struct str payload);

bool fleet_answer_is_silent(const struct fleet_answer *answer);
/* "": none. */
const char *fleet_answer_error(const struct fleet_answer *answer);
/* "success", "failed", "unreachable" or "queued". */
const char *fleet_answer_status(const struct fleet_answer *answer);

/* With all results. Durations are nanoseconds, or text if `readable`. */
struct value fleet_answer_value(struct arena *arena, const struct fleet_answer *answer,
                                bool readable);
/* Without them: peel_id, success, status, duration, error. */
struct value fleet_answer_summary(struct arena *arena, const struct fleet_answer *answer);

#endif
