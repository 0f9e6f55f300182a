/*
 * announce - publishes events of the master itself, zester.event._master.<tag>; they are queued
 * until the stream stores them.
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

/* Events queued for the bus; when it is full, new ones are dropped. */
#define ANNOUNCE_QUEUE_MAX 4096

struct announcement {
    const char *tag;   /* with slashes */
    struct value data; /* a map */
    int32_t depth;
    /* The subject of the event and its start time. Two announcements with the same ones, by any
     * master, make one event. NULL: every announcement is an event. */
    const char *about;
    int64_t seconds;
    nats_stored_ack_fn *stored; /* called once stored or given up; may be NULL */
    void *self;
};

/* Fails with ERR_INVALID for a bad tag, with ERR_BUSY when too many wait. */
int announce_event(struct master *master, const struct announcement *announcement, struct err *err);

struct record_type;

/* Answer an operator's request; failures are logged. */
void master_answer(struct master *master, struct str subject, const struct record_type *type,
                   const void *record);

#endif
