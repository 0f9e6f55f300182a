/*
 * lease - one master at a time does a piece of work: a key of a bucket that forgets.
 *
 * The holder renews its entry by CAS; when it ends, or cannot reach the bus for as long as the
 * bucket keeps entries, another master gets it. Before that time is over the holder itself stops
 * to be one, so that two are never holders at once. The revision that it got the lease with is its
 * fencing token: it only rises.
 *
 * What is not an entry (fleet/nats/kv.h, `is_answer`) takes the lease from nobody: the holder
 * writes its own in place of it, and others do when that has not happened for as long as the bucket
 * keeps entries.
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

#define LEASE_TTL_NS   (INT64_C(15) * 1000000000) /* that of the bucket */
#define LEASE_RENEW_NS (INT64_C(5) * 1000000000)

struct lease;
typedef void lease_fn(struct lease *lease);

struct lease {
    struct nats_js js;
    const char *key, *holder; /* borrowed */
    lease_fn *got, *lost;     /* may be NULL */
    lease_fn *taken;          /* another has it; at each attempt; may be NULL */
    struct timer timer;
    uint64_t revision;     /* of our entry; 0: not the holder */
    int64_t good_until;    /* clock_now */
    int64_t since;         /* bus_time, since when we hold it */
    uint64_t damaged;      /* the revision of something else in place of an entry; 0: none */
    int64_t damaged_since; /* clock_now, since when nothing else was seen; 0: an entry was */
    bool is_started;
    struct lease_call *call; /* under way; or NULL */
};

void lease_start(struct lease *lease);
/* Gives it up at once, so that another need not wait. `fn`, which may be NULL, is called when the
 * bucket has it, or never: false. */
bool lease_stop(struct lease *lease, void (*fn)(void *self), void *self);
bool lease_is_held(const struct lease *lease);

#endif
