/*
 * reporter - the progress of a job, to those who watch it.

 */
#ifndef FLEET_PEEL_REPORTER_H
#define FLEET_PEEL_REPORTER_H

struct job;
struct lane;
struct messenger;

/* It waits for what runs in the lane. In the loop. */
void reporter_tell_queued(const struct job *job, const struct lane *lane,
                          struct messenger *messenger);
/* In a worker: job_work, whose events of a run are posted as progress of the job. */
void reporter_work(struct job *job, struct messenger *messenger);

#endif
