/*
 * peel health - health checks and gauges of an agent, and their loopback server.
 *
 * Memory: the options are borrowed and must outlive it. Threads: the loop's.
 */
#ifndef FLEET_PEEL_PEEL_HEALTH_H
#define FLEET_PEEL_PEEL_HEALTH_H

#include <stdint.h>

struct err;
struct event_socket;
struct heartbeat;
struct beacon_runner;
struct loop;
struct metrics;
struct outbox;
struct uplink;
struct peel_health;

struct peel_health_options {
    struct loop *loop;
    const char *address;
    struct metrics *metrics;
    const struct uplink *uplink;
    const struct heartbeat *heartbeat;
    const struct outbox *outbox;
    const struct event_socket *event_socket;
    const struct beacon_runner *beacon_runner;
    int64_t began; /* of the agent */
};

struct peel_health *peel_health_new(const struct peel_health_options *options, struct err *err);
/* NULL is fine. */
void peel_health_free(struct peel_health *peel_health);

#endif
