/*
 * presence - whether a peel is online: the record, and when it changes.
 *
 * A peel is online if its last heartbeat is younger than `grace`, else offline. The caller must
 * have listened for that long: after a restart or a lost connection, no heartbeats have arrived
 * yet.
 *
 * A change is stored with `owed` first; then the event is sent and `owed` cleared. Another master
 * that finds `owed` sends the same event.
 *
 * Pure: times are handed in. Threads: any.
 */
#ifndef FLEET_WIRE_PRESENCE_H
#define FLEET_WIRE_PRESENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/record.h"

/* Key in the bucket: the peels of an existing fleet have been recorded. */
#define PRESENCE_BEGAN "_began"

enum presence_state { PRESENCE_ONLINE, PRESENCE_OFFLINE };
#define PRESENCE_STATES (PRESENCE_OFFLINE + 1)
const char *presence_state_name(enum presence_state state);

struct presence {
    enum presence_state state;
    struct value_time since; /* of the state */
    struct value_time seen;  /* the last heartbeat before it went offline; 0: not known */
    bool owed;               /* the event may not be stored yet */
};
extern const struct record_type presence_type;

/* Current knowledge; nanoseconds of one clock. */
struct presence_view {
    const struct presence *recorded; /* NULL: none */
    int64_t seen;                    /* the last heartbeat; 0: none */
    int64_t listening_since;
    int64_t now, grace;
};
/* True: the state has changed. */
bool presence_changes(const struct presence_view *view, enum presence_state *ret);

#endif
