/*
 * bus_probe - does the bus store what is written, is it still the same, and what time is it there?
 *
 * A bus that can be read may be full or read-only, and one that answers may have lost its disk:
 * then its streams begin again, and what a master knows of them is worth nothing. So an entry of
 * the bucket of leases is written and read every BUS_PROBE_NS, each within BUS_PROBE_TIMEOUT_NS:
 *
 *     written     the bus stores
 *     revision    lower than one that was seen: the bus has lost what it had
 *     stamp       the clock of the servers (fleet/bus/bus_time.h)
 *
 * Each time some of the streams and of the consumers that masters share are asked for as well, in
 * turn: one that is gone, or was made at another time than before, is as bad.
 *
 *     bus_probe_start -> result... -> bus_probe_stop
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_BUS_PROBE_H
#define FLEET_MASTER_BUS_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/bus/store.h"
#include "fleet/nats/js.h"
#include "core/sys/timers.h"

struct bus_probe_call;

#define BUS_PROBE_NS         (INT64_C(5) * 1000000000)
#define BUS_PROBE_TIMEOUT_NS (INT64_C(3) * 1000000000)
/* Streams and consumers that are asked for each time; and how many there are. */
#define BUS_PROBE_EACH  7
#define BUS_PROBE_ITEMS (STORE_STREAMS + STORE_CONSUMERS)

/* Room for when one was made, as servers write it. */
#define BUS_PROBE_MADE_SIZE 40

struct bus_probe {
    struct nats_js js;
    const char *name; /* of this master; borrowed */
    /* `problem` is NULL when the entry was stored. `is_lost`: the bus has lost what it had. */
    void (*result)(struct bus_probe *probe, const char *problem, bool is_lost);

    /* for bus_probe.c */
    struct timer timer;
    struct bus_probe_call *call;                     /* under way, or NULL */
    uint64_t revision;                               /* of the last entry */
    size_t item;                                     /* whose turn it is */
    char made[BUS_PROBE_ITEMS][BUS_PROBE_MADE_SIZE]; /* when; "": not known */
    bool is_started;
};

/* At once, and then again and again. Started again: at once. */
void bus_probe_start(struct bus_probe *probe);
/* Fine when it was not started. */
void bus_probe_stop(struct bus_probe *probe);

#endif
