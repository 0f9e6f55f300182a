/*
 * announce - events that a master makes: zester.event._master.<tag>, kept until the stream has
 * them.
 *
 *     announce_event(master, &(struct announcement){ .tag = "a/b", .data = data }, err);
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_ANNOUNCE_H
#define FLEET_MASTER_ANNOUNCE_H

#include <stdint.h>

#include "core/data/value.h"
#include "fleet/nats/publisher.h"

struct err;
struct master;

/* Events that wait for the bus; the newest are dropped beyond. */
#define ANNOUNCE_QUEUE_MAX 4096

struct announcement {
    const char *tag;   /* with slashes */
    struct value data; /* a map */
    int32_t depth;
    /* What the event is about, and since when: two masters that say it, or one that says it twice,
     * make one event. NULL: each is an event of its own. */
    const char *about;
    int64_t seconds;
    nats_stored_ack_fn *stored; /* told when the stream has it, or will not; may be NULL */
    void *self;
};

/* Fails with ERR_INVALID for a bad tag, with ERR_BUSY when too many wait. */
int announce_event(struct master *master, const struct announcement *announcement, struct err *err);

struct record_type;

/* Answer a request of an operator; what fails is logged. */
void master_answer(struct master *master, struct str subject, const struct record_type *type,
                   const void *record);

#endif
