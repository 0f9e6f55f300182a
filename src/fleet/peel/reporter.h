/*
 * reporter - publishes the progress of a job.

 */
#ifndef FLEET_PEEL_REPORTER_H
#define FLEET_PEEL_REPORTER_H

struct peel_job;
struct job_pool;
struct messenger;

/* Reports that it waits for the jobs that run in the pool. In the loop. */
void reporter_tell_queued(const struct peel_job *job, const struct job_pool *job_pool,
                          struct messenger *messenger);
/* In a worker: job_work, whose events of a run are posted as progress of the job. */
void reporter_work(struct peel_job *job, struct messenger *messenger);

#endif
