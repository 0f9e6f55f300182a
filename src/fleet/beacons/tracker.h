/*
 * tracker - what is known of the things that a beacon watches, and what has changed.
 *
 * The first look is the baseline and changes nothing, except that a level above its limit is
 * reported: a disk that is full when the agent starts is full. After that every transition is
 * reported once. With a hold, a state must last so long before it counts; one that does not last is
 * never reported. A level has a margin: it is over above its limit, and ok again below `clear`.
 *
 *     tracker_feed(&tracker, &rule, &readings, now, arena, &changes)
 *
 * Pure: time is handed in. Memory: tracker_done frees; changes are in the arena, and point to the
 * readings. Threads: one.
 */
#ifndef FLEET_BEACONS_TRACKER_H
#define FLEET_BEACONS_TRACKER_H

#include "core/base/map.h"
#include "fleet/beacons/kind.h"

#define TRACKER_OVER "over"
#define TRACKER_OK   "ok"

struct tracker {
    struct map items; /* by key */
    bool has_baseline;
};

struct tracker_rule {
    int64_t hold;       /* nanoseconds */
    bool every;         /* report every reading, changed or not */
    bool tells_absence; /* what comes after the baseline, and what goes, is a change */
};

struct tracker_changes {
    VEC(struct beacon_change) list;
};

/* All zero is one without a baseline. */
void tracker_done(struct tracker *tracker);

/* False while something is moving, or waits for its hold: what has begun may be reported later. */
bool tracker_feed(struct tracker *tracker, const struct tracker_rule *rule,
                  const struct beacon_readings *readings, int64_t now, struct arena *arena,
                  struct tracker_changes *ret_changes);

#endif
