/*
 * job_record - one job for people: what was asked, when, and what became of it on each peel.
 */
#ifndef COMMANDS_CLI_FLEET_JOB_RECORD_H
#define COMMANDS_CLI_FLEET_JOB_RECORD_H

struct buf;
struct fleet_answers;
struct job;
struct value;

/* Append the lines. `queued` are the names of the peels that the job still waits for. */
void job_record_print(const struct job *job, const struct value *queued,
                      const struct fleet_answers *answers, struct buf *out);

#endif
