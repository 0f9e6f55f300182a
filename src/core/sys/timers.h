/*
 * timers - deadlines in order, each with a callback.
 *
 * A timer lives in its owner's struct. The set knows nothing about loops or clocks: its driver
 * (sys/loop, or a test with a fake clock) reads the next deadline and passes the time. Due timers
 * are collected before they are called, so a callback may set and clear any timer, its own
 * included; a timer set in a callback does not run in the same round.
 *
 *     timers_init -> timer_set... -> { timers_next, timers_run }... -> timers_done
 *
 * Memory: the set owns its heap, never a timer. Threads: one.
 */
#ifndef CORE_SYS_TIMERS_H
#define CORE_SYS_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/vec.h"

struct timer;

typedef void timer_fn(struct timer *timer);

/* Zero is an unset timer. */
struct timer {
    int64_t deadline;
    timer_fn *fn;
    uint64_t turn;              /* equal deadlines: the order of setting */
    size_t place;               /* in the heap, from 1; 0: not there */
    struct timer *next, **back; /* while it is due */
};

struct timers {
    VEC(struct timer *) heap;
    struct timer *due, **due_end;
    uint64_t turns;
};

void timers_init(struct timers *timers);
/* Timers still set are forgotten. */
void timers_done(struct timers *timers);

/* Call `fn` once `deadline` has passed; a timer already set moves. */
void timer_set(struct timers *timers, struct timer *timer, int64_t deadline, timer_fn *fn);
/* Not set is fine. */
void timer_clear(struct timers *timers, struct timer *timer);
bool timer_is_set(const struct timer *timer);

/* The earliest deadline, or CLOCK_NEVER. */
int64_t timers_next(const struct timers *timers);
/* Call the timers due at `now`, earliest first; returns how many. */
size_t timers_run(struct timers *timers, int64_t now);

#endif
