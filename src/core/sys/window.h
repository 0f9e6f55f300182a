/*
 * window - a maintenance window: times of the week in which a machine may be changed.
 *
 *     01:00-05:00                 every day
 *     Sat,Sun 01:00-05:00         on these days
 *     Mon-Fri 22:00-02:00 UTC     past midnight: belongs to the day on which it begins
 *     Sun 03:00-24:00 +02:00      at this offset from UTC
 *
 * Without a zone the times are local, with summer time: an hour that does not exist on a day
 * becomes the next hour.
 *
 * Pure: the caller passes the time. Memory: none. Threads: any.
 */
#ifndef CORE_SYS_WINDOW_H
#define CORE_SYS_WINDOW_H

#include <stdbool.h>
#include <time.h>

#include "core/base/str.h"

struct err;

/* The window of a machine. */
#define WINDOW_MAX 100

struct window {
    unsigned days;  /* a bit for each, from Sunday */
    int begin, end; /* minutes of its first day; the end may be on the next day */
    bool is_fixed;  /* not local time, but: */
    int offset;     /* seconds east of UTC */
};

/* Fails with ERR_INVALID. */
int window_parse(struct str text, struct window *ret, struct err *err);

bool window_is_open(const struct window *window, time_t now);
/* The next opening after `now`; (time_t)-1: never. */
time_t window_next(const struct window *window, time_t now);

#endif
