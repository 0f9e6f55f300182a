/*
 * lane - jobs that run beside each other up to a limit; the others wait their turn.
 *
 * Memory: jobs are the caller's; a job is in one lane at most. Threads: the loop's.
 */
#ifndef FLEET_PEEL_LANE_H
#define FLEET_PEEL_LANE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct job;

struct lane {
    bool is_held;              /* files are on their way, for the first run of states that waits */
    bool is_looked_at;         /* beacons look at the machine before the first that waits */
    struct job *first, **last; /* that wait */
    struct job *running;       /* linked by `next` */
    size_t waiting, busy, limit;
};

void lane_init(struct lane *lane, size_t limit);
/* To the end of those that wait. */
void lane_add(struct lane *lane, struct job *job);
/* The first that waits runs now. NULL: nothing waits, or as many run as may. */
struct job *lane_start(struct lane *lane);
/* It no longer runs. */
void lane_finish(struct lane *lane, struct job *job);
/* One that waits leaves: the job of that id, or the first of all. NULL: none. */
struct job *lane_take(struct lane *lane, struct str jid);
struct job *lane_take_first(struct lane *lane);
/* This one leaves, if it waits. */
bool lane_drop(struct lane *lane, const struct job *job);

bool lane_is_idle(const struct lane *lane);

#endif
