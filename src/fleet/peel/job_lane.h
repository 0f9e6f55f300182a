/*
 * job lane - jobs that run beside each other up to a limit; the others wait their turn.
 *
 * Memory: jobs are the caller's; a job is in one job lane at most. Threads: the loop's.
 */
#ifndef FLEET_PEEL_JOB_LANE_H
#define FLEET_PEEL_JOB_LANE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct peel_job;

struct job_lane {
    bool is_held;      /* files are on their way, for the first run of states that waits */
    bool is_looked_at; /* beacons look at the machine before the first that waits */
    struct peel_job *first, **last; /* that wait */
    struct peel_job *running;       /* linked by `next` */
    size_t waiting, busy, limit;
};

void job_lane_init(struct job_lane *job_lane, size_t limit);
/* To the end of those that wait. */
void job_lane_add(struct job_lane *job_lane, struct peel_job *job);
/* The first that waits runs now. NULL: nothing waits, or as many run as may. */
struct peel_job *job_lane_start(struct job_lane *job_lane);
/* It no longer runs. */
void job_lane_finish(struct job_lane *job_lane, struct peel_job *job);
/* One that waits leaves: the job of that id, or the first of all. NULL: none. */
struct peel_job *job_lane_take(struct job_lane *job_lane, struct str jid);
struct peel_job *job_lane_take_first(struct job_lane *job_lane);
/* This one leaves, if it waits. */
bool job_lane_drop(struct job_lane *job_lane, const struct peel_job *job);

bool job_lane_is_idle(const struct job_lane *job_lane);

#endif
