/*
 * fleet_answer - one peel's answer to a job, for people and programs.
 *
 *     answer = (struct fleet_answer){ .peel = id, .error = "" };
 *     fleet_answer_take(&answer, arena, jid, payload) -> fleet_answer_status, fleet_answer_value
 *
 * The first real answer of a peel counts; it replaces one made by a master.
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
    bool is_queued;  /* unreachable; a master keeps the job queued for it */
    bool is_overdue; /* the job ended without its result */
    struct exec_response response;
    const char *error; /* "": none */
    int64_t duration;  /* of a job, in nanoseconds */
};

/* Takes a return as published or stored. False: dropped, because it is malformed, names another
 * peel or job, or an earlier one counts. */
bool fleet_answer_take(struct fleet_answer *answer, struct arena *arena, struct str jid,
                       struct str payload);

bool fleet_answer_is_silent(const struct fleet_answer *answer);
/* "": none. */
const char *fleet_answer_error(const struct fleet_answer *answer);
/* The error of its first state that failed, "NAME: ERROR", else of the whole; "": none. */
const char *fleet_answer_first_error(struct arena *arena, const struct fleet_answer *answer);
/* "success", "failed", "unreachable" or "queued". */
const char *fleet_answer_status(const struct fleet_answer *answer);

/* With all results; durations in nanoseconds, or as text if `readable`. */
struct value fleet_answer_value(struct arena *arena, const struct fleet_answer *answer,
                                bool readable);
/* Without results: peel_id, success, status, duration, error. */
struct value fleet_answer_summary(struct arena *arena, const struct fleet_answer *answer);

#endif
