/*
 * own_event - an event of this machine, ready to be stored.
 *
 *     own_event_make -> own_event_encode
 *
 * Memory: the arena of own_event_make. Threads: any.
 */
#ifndef FLEET_PEEL_OWN_EVENT_H
#define FLEET_PEEL_OWN_EVENT_H

#include <stdint.h>

#include "core/base/ksuid.h"
#include "fleet/wire/event.h"

struct arena;
struct buf;
struct err;

struct own_event {
    char id[KSUID_SIZE];
    struct event event; /* without its id, which own_event_encode fills in */
    const char *subject, *key;
};

/* Content of the event. */
struct own_event_wish {
    const char *peel;
    enum subject_kind kind;       /* SUBJECT_EVENT_SEND, SUBJECT_EVENT_BEACON */
    const char *tag;              /* slash or dotted form; of a beacon its name */
    struct value data;            /* a map, not shared; null: none */
    const struct value *settings; /* their secrets are masked in the data; NULL: none */
    int32_t depth;
};

/* Sets an id and the current time. Fails with ERR_INVALID for a bad tag. */
int own_event_make(struct arena *arena, const struct own_event_wish *wish, struct own_event *ret,
                   struct err *err);
int own_event_encode(const struct own_event *own, struct buf *out, struct err *err);

#endif
