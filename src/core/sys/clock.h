/*
 * clock - the time, from a source that tests can control.
 *
 * All times are nanoseconds in an int64_t: monotonic ones count from some point
 * in the past and never jump, wall ones count from 1970. Code with deadlines calls
 * clock_now; a test installs the fake clock and advances it.
 *
 * Waits that block a thread (poll, condition variables) cannot be controlled by
 * a test: they use clock_real. Threads: any.
 */
#ifndef CORE_SYS_CLOCK_H
#define CORE_SYS_CLOCK_H

#include <stdint.h>

struct timespec;

#define CLOCK_US     INT64_C(1000)
#define CLOCK_MS     INT64_C(1000000)
#define CLOCK_SECOND INT64_C(1000000000)
/* A deadline that never comes. */
#define CLOCK_NEVER INT64_MAX

/* Monotonic and wall time from the installed source. */
int64_t clock_now(void);
int64_t clock_wall(void);

/* Monotonic time of the kernel, even while a fake clock is installed. */
int64_t clock_real(void);

/* Processor time of the calling thread: stands still while others run. */
int64_t clock_thread(void);

/* `now` + `ns`, or CLOCK_NEVER when that overflows. */
int64_t clock_after(int64_t now, int64_t ns);

/* The time left until `deadline` of clock_real, for ppoll; NULL for CLOCK_NEVER. */
const struct timespec *clock_left(int64_t deadline, struct timespec *room);

/* From now on both clocks stand still until a test advances them. */
void clock_fake(int64_t now, int64_t wall);
void clock_turn(int64_t ns);
/* Back to the kernel's clocks. */
void clock_restore(void);

#endif
