/*
 * job pool - runs jobs in parallel up to a limit; the others wait in order.
 *
 * Memory: jobs are the caller's; a job is in one job pool at most. Threads: the loop's.
 */
#ifndef FLEET_PEEL_JOB_POOL_H
#define FLEET_PEEL_JOB_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct peel_job;

struct job_pool {
    bool is_held;                   /* waits for files, for its first run of states */
    bool is_looked_at;              /* waits for beacons, for its first job */
    struct peel_job *first, **last; /* waiting */
    struct peel_job *running;       /* linked by `next` */
    size_t waiting, busy, limit;
};

void job_pool_init(struct job_pool *job_pool, size_t limit);
/* Appends a waiting job. */
void job_pool_add(struct job_pool *job_pool, struct peel_job *job);
/* Starts the first waiting job. NULL: none waits, or the limit is reached. */
struct peel_job *job_pool_start(struct job_pool *job_pool);
/* Removes a running job. */
void job_pool_finish(struct job_pool *job_pool, struct peel_job *job);
/* Removes a waiting job: the one with this id, or the first. NULL: none. */
struct peel_job *job_pool_take(struct job_pool *job_pool, struct str jid);
struct peel_job *job_pool_take_first(struct job_pool *job_pool);
/* Removes this job if it waits. */
bool job_pool_drop(struct job_pool *job_pool, const struct peel_job *job);

bool job_pool_is_idle(const struct job_pool *job_pool);

#endif
