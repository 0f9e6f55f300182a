/*
 * bus_probe - checks that the bus stores data and has not lost any, and reads its clock.
 *
 * A readable bus may be full or read-only, and a bus that answers may have lost its disk: then its
 * streams start over, and everything that a master knows about them is wrong. So an entry in the
 * lease bucket is written and read every BUS_PROBE_NS, each within BUS_PROBE_TIMEOUT_NS:
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
    /* `problem` is NULL when the entry was stored. `is_lost`: the bus has lost data. */
    void (*result)(struct bus_probe *probe, const char *problem, bool is_lost);

    /* for bus_probe.c */
    struct timer timer;
    struct bus_probe_call *call;                     /* under way, or NULL */
    uint64_t revision;                               /* of the last entry */
    size_t item;                                     /* whose turn it is */
    char made[BUS_PROBE_ITEMS][BUS_PROBE_MADE_SIZE]; /* when; "": not known */
    bool is_started;
};

/* Probes now, and then at intervals. Called again: probes now. */
void bus_probe_start(struct bus_probe *probe);
/* May be called when not started. */
void bus_probe_stop(struct bus_probe *probe);

#endif
