/*
 * fleet_rollout - the end of a job that went in waves: why it stopped, and what was reverted.
 */
#ifndef COMMANDS_CLI_FLEET_ROLLOUT_H
#define COMMANDS_CLI_FLEET_ROLLOUT_H

#include "commands/cli/fleet/link.h"

struct cli;
struct err;
struct fleet_run;
struct job;

/* Wait until the record of a job with waves has its end, gates and all; a job without waves is left
 * alone. `job` is the record then. */
int fleet_rollout_wait(struct fleet *fleet, struct job *job, struct err *err);
/* The same, and print why it stopped and how its revert goes. `status` is the exit status by the
 * answers of its peels; returns that of the command. */
int fleet_rollout_end(struct cli *cli, struct fleet *fleet, const struct job *job,
                      const struct fleet_run *how, int status);

#endif
