/*
 * lease - lets one master at a time do a piece of work: a key in a bucket with a TTL.
 *
 * The holder renews its entry by CAS; when it stops, or cannot reach the bus for the TTL, another
 * master gets the lease. The holder gives up before the TTL ends, so that there are never two. The
 * revision with which it got the lease is its fencing token: it only rises.
 *
 * A value that is not an entry (fleet/nats/kv.h, `is_answer`) does not end the lease: the holder
 * overwrites it, and others do so after the TTL.
 *
 *     lease_start -> got... lost... -> lease_stop
 *
 * Memory: lives in its owner's struct. Threads: the loop's.
 */
#ifndef FLEET_MASTER_LEASE_H
#define FLEET_MASTER_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/bus/bus_time.h"
#include "fleet/nats/js.h"
#include "core/sys/timers.h"

struct err;

#define LEASE_TTL_NS   (INT64_C(15) * 1000000000) /* TTL of the bucket */
#define LEASE_RENEW_NS (INT64_C(5) * 1000000000)

struct lease;
typedef void lease_fn(struct lease *lease);

struct lease {
    struct nats_js js;
    const char *key, *holder; /* borrowed */
    lease_fn *got, *lost;     /* may be NULL */
    lease_fn *taken;          /* another master has it; called at each attempt; may be NULL */
    struct timer timer;
    uint64_t revision;     /* of our entry; 0: not held */
    int64_t good_until;    /* clock_now */
    int64_t since;         /* bus_time when we got it */
    uint64_t damaged;      /* revision of a damaged entry; 0: none */
    int64_t damaged_since; /* clock_now when the damage was first seen; 0: not damaged */
    bool is_started;
    struct lease_call *call; /* under way; or NULL */
};

void lease_start(struct lease *lease);
/* Release it now, so that no other master waits. `fn`, which may be NULL, is called when the bucket
 * has it. False: never. */
bool lease_stop(struct lease *lease, void (*fn)(void *self), void *self);
bool lease_is_held(const struct lease *lease);

#endif
