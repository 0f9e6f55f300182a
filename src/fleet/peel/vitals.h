/*
 * vitals - health checks and gauges of an agent, and the loopback server that shows them.
 *
 * Memory: what the options name is borrowed and must outlive it. Threads: the loop's.
 */
#ifndef FLEET_PEEL_VITALS_H
#define FLEET_PEEL_VITALS_H

#include <stdint.h>

struct err;
struct event_door;
struct heart;
struct lookout;
struct loop;
struct metrics;
struct mirror;
struct outbox;
struct uplink;
struct vitals;

struct vitals_options {
    struct loop *loop;
    const char *address;
    struct metrics *metrics;
    const struct uplink *uplink;
    const struct heart *heart;
    const struct outbox *outbox;
    const struct event_door *door;
    const struct lookout *lookout;
    const struct mirror *states, *settings;
    int64_t began; /* of the agent */
};

struct vitals *vitals_new(const struct vitals_options *options, struct err *err);
/* NULL is fine. */
void vitals_free(struct vitals *vitals);

#endif
