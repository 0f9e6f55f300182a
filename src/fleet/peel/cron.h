/*
 * cron - parses "minute hour day month weekday" and finds the next match.
 *
 * Fields are numbers, '*', lists, ranges and steps ("1-5", "0,30", "1-20/2", with a star before the
 * slash for every so many); months and weekdays also by their first three letters, 7 is Sunday,
 * too. If both day and weekday are restricted, either is enough, as in cron. "@hourly", "@daily",
 * "@weekly", "@monthly", "@yearly" are abbreviations.
 *
 * Times are local. Pure but for the time zone of the system. Threads: any.
 */
#ifndef FLEET_PEEL_CRON_H
#define FLEET_PEEL_CRON_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct err;

struct cron {
    uint64_t minutes, hours, days, months, weekdays; /* bits */
    bool any_day, any_weekday;
};

/* Fails with ERR_INVALID. */
int cron_parse(const char *text, struct cron *ret_cron, struct err *err);
/* The first matching minute after `now`; -1: none in the next years. */
time_t cron_next(const struct cron *cron, time_t now);

#endif
