/*
 * local_time - a moment for people: in the time zone of this machine, "2026-11-19 20:03:12".
 *
 * Memory: the arena. Threads: any.
 */
#ifndef COMMANDS_CLI_SHARED_LOCAL_TIME_H
#define COMMANDS_CLI_SHARED_LOCAL_TIME_H

#include <stdint.h>

struct arena;
struct err;
struct value_time;

/* "-" for no moment at all. */
const char *local_time_text(struct arena *arena, struct value_time time);

/* The same with the offset of the zone: "2026-11-19 20:03:12 +0300". */
const char *local_time_zoned(struct arena *arena, struct value_time time);

/* A moment of the past: how long before `now` it was (2h), the last time that clocks
 * showed 20:03, or a date with or
 * without a time; one that ends with Z is UTC. Nanoseconds since 1970. Fails with ERR_INVALID. */
int local_time_read(const char *text, int64_t now, int64_t *ret_ns, struct err *err);

#endif
