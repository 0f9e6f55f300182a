/*
 * heartbeat monitor - detects lost masters, by the heartbeats that all masters write to one log.
 *
 * Silence alone proves nothing: without a leader of the log, or without its messages, no master is
 * heard. So silence is measured by our own heartbeats, which take the same path: a master is lost
 * when enough of ours, over a long enough time, have come back since its last one. While the log
 * stands still, so does the monitor.
 *
 * A master that has just started has not listened for long. So each heartbeat carries the time
 * since when the log has had no gap, as its writer knows from the one before: if that is long
 * enough, it counts as if we had listened.
 *
 * For the same reason other masters may consider us lost when ours do not come back for long. That
 * is a doubt: jobs may have been taken over meanwhile and must be checked.
 *
 *     heartbeat_monitor_init
 *     { heartbeat_monitor_note, heartbeat_monitor_part, heartbeat_monitor_is_gone }...
 *     heartbeat_monitor_done
 *
 * Pure: times are handed in, of a clock that only rises. Memory: ids are copied. Threads: one at a
 * time.
 */
#ifndef FLEET_JOBS_HEARTBEAT_MONITOR_H
#define FLEET_JOBS_HEARTBEAT_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/map.h"
#include "core/base/str.h"

/* Our own heartbeats since the last one of another master, and the time they span. */
#define HEARTBEAT_MONITOR_BEATS      4
#define HEARTBEAT_MONITOR_SILENCE_NS (INT64_C(15) * 1000000000)
/* Delayed heartbeats that arrive together count as one. */
#define HEARTBEAT_MONITOR_APART_NS (INT64_C(4) * 1000000000)
/* Time without our own heartbeats: shorter than the silence, to doubt in time. */
#define HEARTBEAT_MONITOR_DOUBT_NS (INT64_C(10) * 1000000000)
/* Maximum distance of heartbeats without a gap; and how long that must last. */
#define HEARTBEAT_MONITOR_GAP_NS    (INT64_C(7) * 1000000000)
#define HEARTBEAT_MONITOR_STEADY_NS (INT64_C(20) * 1000000000)
/* A lost master is forgotten after this. */
#define HEARTBEAT_MONITOR_MEMORY_NS (4 * HEARTBEAT_MONITOR_SILENCE_NS)

struct heartbeat_monitor {
    const char *self_id; /* borrowed */
    struct map others;   /* struct heartbeat_monitor_other by id */
    uint64_t beats;      /* our own heartbeats that count */
    int64_t first, last; /* of these */
    int64_t heard;       /* time of our last one, counted or not */
    uint64_t doubts;     /* number of doubts */
    /* By the log's clock: no gap between these. */
    int64_t log_since, log_last;
    int64_t log_heard; /* by our clock, time of the last heartbeat; 0: none */
};

struct heartbeat_monitor_sign {
    struct str id;
    int64_t now;    /* arrival, by our clock */
    int64_t stored; /* storage time, by the log's clock, in nanoseconds since 1970 */
    int64_t since;  /* start of the log without a gap, by its writer; 0: not known */
};

void heartbeat_monitor_init(struct heartbeat_monitor *monitor, const char *self_id);
void heartbeat_monitor_done(struct heartbeat_monitor *monitor);

/* A heartbeat of any master has arrived, in the order of the log. */
void heartbeat_monitor_note(struct heartbeat_monitor *monitor,
                            const struct heartbeat_monitor_sign *sign);
/* For our next heartbeat: since when the log has had no gap; 0: not known. */
int64_t heartbeat_monitor_since(const struct heartbeat_monitor *monitor, int64_t now);
/* A master has announced its shutdown. */
void heartbeat_monitor_part(struct heartbeat_monitor *monitor, struct str id, int64_t now);
/* A master that was never heard counts as heard just before our first heartbeat, unless the log had
 * no gap for long. */
bool heartbeat_monitor_is_gone(const struct heartbeat_monitor *monitor, struct str id);

#endif
