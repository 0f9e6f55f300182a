/*
 * orchestra_job - an orchestration that is a job of a master: `zester orchestrate --job ID`.
 *
 * Masters start it (fleet/master/jobs/orchestrator.h) and read the return of the job, in
 * MessagePack, from its standard output. What to run, with which settings and for whom is in the
 * record of the job. The tree sees no settings and no facts but those, and has no states but steps:
 * so any master can run it, and running it again changes nothing.
 */
#ifndef COMMANDS_CLI_FLEET_ORCHESTRATE_ORCHESTRA_JOB_H
#define COMMANDS_CLI_FLEET_ORCHESTRATE_ORCHESTRA_JOB_H

struct cli;
struct fleet_options;
struct session_options;

/* `options` has the folders. Returns the exit status; 0 when there is a return, also of a run that
 * failed. */
int orchestra_run_job(struct cli *cli, const struct fleet_options *fleet,
                      const struct session_options *options, const char *jid);

#endif
