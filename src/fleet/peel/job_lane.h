/*
 * job lane - runs jobs in parallel up to a limit; the others wait in order.
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
    bool is_held;                   /* waits for files, for its first run of states */
    bool is_looked_at;              /* waits for beacons, for its first job */
    struct peel_job *first, **last; /* waiting */
    struct peel_job *running;       /* linked by `next` */
    size_t waiting, busy, limit;
};

void job_lane_init(struct job_lane *job_lane, size_t limit);
/* Appends a waiting job. */
void job_lane_add(struct job_lane *job_lane, struct peel_job *job);
/* Starts the first waiting job. NULL: none waits, or the limit is reached. */
struct peel_job *job_lane_start(struct job_lane *job_lane);
/* Removes a running job. */
void job_lane_finish(struct job_lane *job_lane, struct peel_job *job);
/* Removes a waiting job: the one with this id, or the first. NULL: none. */
struct peel_job *job_lane_take(struct job_lane *job_lane, struct str jid);
struct peel_job *job_lane_take_first(struct job_lane *job_lane);
/* Removes this job if it waits. */
bool job_lane_drop(struct job_lane *job_lane, const struct peel_job *job);

bool job_lane_is_idle(const struct job_lane *job_lane);

#endif
