/*
 * fleet_event - makes events of operators; fleet/wire/event.h describes events for programs.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef FLEET_VIEW_EVENT_H
#define FLEET_VIEW_EVENT_H

#include "core/base/ksuid.h"
#include "fleet/wire/event.h"

struct arena;
struct err;

/* An event of an operator, ready to be stored. */
struct fleet_event {
    struct event event;
    const char *key, *subject; /* rules match the key */
    char id[KSUID_SIZE];       /* of the event, and of its message */
};

/* `tag` has slashes or dots; `data` is a map or null; `now` is wall time in nanoseconds. The event
 * points into `ret`, which must stay where it is. Fails with ERR_INVALID for a bad tag. */
int fleet_event_make(struct arena *arena, struct str tag, struct value data, int64_t now,
                     struct fleet_event *ret, struct err *err);
/* For the sender: id, tag, match_key, subject. */
struct value fleet_event_receipt(struct arena *arena, const struct fleet_event *sent);

#endif
