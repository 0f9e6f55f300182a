/*
 * reply - encodes the answer to a request.
 *
 * Details are texts on the wire; other values are printed as YAML, and what a function returned is
 * also sent as it is. A message too large for the bus loses that and the middle of its long texts
 * first, then its details and differences, then its results.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef FLEET_VIEW_REPLY_H
#define FLEET_VIEW_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct arena;
struct exec_request;
struct exec_result;
struct perform_answer;
struct state_result;

struct reply_head {
    const char *peel_id;
    const struct exec_request *request;
    size_t size_max; /* bytes */
};

/* An ExecResponse. */
struct str reply_response(struct arena *arena, const struct reply_head *head,
                          const struct perform_answer *answer);
/* A Return with the response in it. `now` is wall time in nanoseconds. */
struct str reply_return(struct arena *arena, const struct reply_head *head,
                        const struct perform_answer *answer, int64_t duration, int64_t now);

/* One state in its wire form. */
void reply_state(struct arena *arena, const struct state_result *state,
                 struct exec_result *ret_result);

#endif
