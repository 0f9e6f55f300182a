/*
 * bus_time - the time of day as the bus has it.
 *
 * Clocks of masters differ, and what one of them writes others compare with: deadlines of jobs,
 * signs of life, when credentials were issued and revoked. So masters stamp and compare with the
 * clock of the servers, which each learns from the stamp of an entry that it has written itself
 * (fleet/master/bus_probe.h). Between two looks the monotonic clock counts on, so that a step of
 * the own clock does not matter. Until the first look, and in programs that never look, it is the
 * own clock.
 *
 * A process has one bus, as it has one clock. Threads: any.
 */
#ifndef FLEET_BUS_BUS_TIME_H
#define FLEET_BUS_BUS_TIME_H

#include <stdint.h>

#include "core/data/value.h"

/* A look that took longer than this does not replace a better one. */
#define BUS_TIME_BLUR_NS (INT64_C(500) * 1000000)
/* A better one that is older than this counts for nothing. */
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
/* As if nobody had looked. */
void bus_time_forget(void);

#endif
