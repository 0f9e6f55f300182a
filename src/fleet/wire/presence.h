/*
 * presence - whether a peel is there: the record of it, and when it changes.
 *
 * A peel is online when it was heard within `grace`, and offline when it was not. Who decides must
 * have listened for as long as that: after a restart, and after the bus was gone, everybody is
 * silent for a while.
 *
 * A change is stored with `owed` first; the event follows, and then `owed` is taken away. Another
 * master that finds it sends the same event.
 *
 * Pure: times are handed in. Threads: any.
 */
#ifndef FLEET_WIRE_PRESENCE_H
#define FLEET_WIRE_PRESENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/record.h"

/* In the bucket: the peels of a fleet that was there before were recorded. */
#define PRESENCE_BEGAN "_began"

enum presence_state { PRESENCE_ONLINE, PRESENCE_OFFLINE };
#define PRESENCE_STATES (PRESENCE_OFFLINE + 1)
const char *presence_state_name(enum presence_state state);

struct presence {
    enum presence_state state;
    struct value_time since; /* of the state */
    struct value_time seen;  /* the last sign of life before it went offline; 0: not known */
    bool owed;               /* the event of this change may not be stored */
};
extern const struct record_type presence_type;

/* What is known at a moment; nanoseconds of one clock. */
struct presence_view {
    const struct presence *recorded; /* NULL: nothing */
    int64_t seen;                    /* the last sign of life; 0: none */
    int64_t listening_since;
    int64_t now, grace;
};
/* True: the state is another one now. */
bool presence_changes(const struct presence_view *view, enum presence_state *ret);

#endif
