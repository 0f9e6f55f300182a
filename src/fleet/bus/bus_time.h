/*
 * bus_time - the time of day, by the clock of the bus.
 *
 * The clocks of masters differ, but they compare each other's times: job deadlines, heartbeats,
 * issued and revoked credentials. So masters use the clock of the servers. Each learns it from the
 * timestamp of an entry that it wrote itself (fleet/master/bus_probe.h). Between two measurements
 * the monotonic clock is added, so a step of the local clock does not matter. Before the first
 * measurement, and in programs without one, it is the local clock.
 *
 * A process has one bus. Threads: any.
 */
#ifndef FLEET_BUS_BUS_TIME_H
#define FLEET_BUS_BUS_TIME_H

#include <stdint.h>

#include "core/data/value.h"

/* A measurement that took longer does not replace a better one. */
#define BUS_TIME_BLUR_NS (INT64_C(500) * 1000000)
/* Unless the better one is older than this. */
#define BUS_TIME_AGE_NS (INT64_C(60) * 1000000000)

/* Nanoseconds since 1970. */
int64_t bus_time(void);
/* The same in seconds, and as records have it. */
int64_t bus_time_seconds(void);
struct value_time bus_time_value(void);

/* An entry was written between `sent` and `stored` of clock_now, and a server stamped it. */
void bus_time_note(int64_t sent, int64_t stored, int64_t stamp);
/* How far ahead of the bus our own clock is, in nanoseconds; 0: not known. */
int64_t bus_time_skew(void);
/* Discards the measurement. */
void bus_time_forget(void);

#endif
