/*
 * vigil - detects lost masters, by the heartbeats that all masters write to one log.
 *
 * Silence alone proves nothing: without a leader of the log, or without its messages, no master is
 * heard. So silence is measured by our own heartbeats, which take the same path: a master is lost
 * when enough of ours, over a long enough time, have come back since its last one. While the log
 * stands still, so does the vigil.
 *
 * A master that has just started has not listened for long. So each heartbeat carries the time
 * since when the log has had no gap, as its writer knows from the one before: if that is long
 * enough, it counts as if we had listened.
 *
 * For the same reason other masters may consider us lost when ours do not come back for long. That
 * is a doubt: jobs may have been taken over meanwhile and must be checked.
 *
 *     vigil_init -> { vigil_note, vigil_part, vigil_is_gone }... -> vigil_done
 *
 * Pure: times are handed in, of a clock that only rises. Memory: ids are copied. Threads: one at a
 * time.
 */
#ifndef FLEET_JOBS_VIGIL_H
#define FLEET_JOBS_VIGIL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/map.h"
#include "core/base/str.h"

/* Our own heartbeats since the last one of another master, and the time they span. */
#define VIGIL_BEATS      4
#define VIGIL_SILENCE_NS (INT64_C(15) * 1000000000)
/* Delayed heartbeats that arrive together count as one. */
#define VIGIL_APART_NS (INT64_C(4) * 1000000000)
/* Time without our own heartbeats: shorter than the silence, to doubt in time. */
#define VIGIL_DOUBT_NS (INT64_C(10) * 1000000000)
/* Maximum distance of heartbeats without a gap; and how long that must last. */
#define VIGIL_GAP_NS    (INT64_C(7) * 1000000000)
#define VIGIL_STEADY_NS (INT64_C(20) * 1000000000)
/* A lost master is forgotten after this. */
#define VIGIL_MEMORY_NS (4 * VIGIL_SILENCE_NS)

struct vigil {
    const char *self_id; /* borrowed */
    struct map others;   /* struct vigil_other by id */
    uint64_t beats;      /* our own heartbeats that count */
    int64_t first, last; /* of these */
    int64_t heard;       /* time of our last one, counted or not */
    uint64_t doubts;     /* number of doubts */
    /* By the log's clock: no gap between these. */
    int64_t log_since, log_last;
    int64_t log_heard; /* by our clock, time of the last heartbeat; 0: none */
};

struct vigil_sign {
    struct str id;
    int64_t now;    /* arrival, by our clock */
    int64_t stored; /* storage time, by the log's clock, in nanoseconds since 1970 */
    int64_t since;  /* start of the log without a gap, by its writer; 0: not known */
};

void vigil_init(struct vigil *vigil, const char *self_id);
void vigil_done(struct vigil *vigil);

/* A heartbeat of any master has arrived, in the order of the log. */
void vigil_note(struct vigil *vigil, const struct vigil_sign *sign);
/* For our next heartbeat: since when the log has had no gap; 0: not known. */
int64_t vigil_since(const struct vigil *vigil, int64_t now);
/* A master has announced its shutdown. */
void vigil_part(struct vigil *vigil, struct str id, int64_t now);
/* A master that was never heard counts as heard just before our first heartbeat, unless the log had
 * no gap for long. */
bool vigil_is_gone(const struct vigil *vigil, struct str id);

#endif
