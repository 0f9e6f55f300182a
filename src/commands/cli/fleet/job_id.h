/*
 * fleet_job_id - ids of jobs as people write them: the beginning is enough, if only one job has it.
 *
 * Memory: the arena of the fleet. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_JOB_ID_H
#define COMMANDS_CLI_FLEET_JOB_ID_H

#include "commands/cli/fleet/link.h"

struct err;
struct job;

/* The shortest beginning. */
#define FLEET_JOB_ID_MIN 4

/* The record of the job with this id, or with the only id that begins so. Fails with ERR_NOT_FOUND,
 * and with ERR_INVALID for a beginning of several ids, which the error lists. */
int fleet_find_job(struct fleet *fleet, const char *id, struct job *ret_job, struct err *err);
/* The same for the id of a job that waits for approval, or did. */
int fleet_find_approval(struct fleet *fleet, const char *id, const char **ret_id, struct err *err);

#endif
