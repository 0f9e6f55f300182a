/*
 * why_state - the result of a state in the last run of a machine, and its causes.
 *
 *     state <- the state that it requires and that failed ... <- run <- job
 * (commands/cli/fleet/why/fleet.h)
 *
 * A state is named in full, "file.managed:/etc/motd", or by its ID.
 *
 * Memory: the arena of the chain. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_WHY_STATE_H
#define COMMANDS_CLI_FLEET_WHY_STATE_H

#include "commands/cli/fleet/why/chain.h"

struct err;
struct fleet;
struct lastrun;

/* A state of this machine, from its data folder. Fails with ERR_NOT_FOUND when its last run had no
 * such state. `ret_run` is the id of the run, which may be that of a job; "": none. */
int why_add_state(struct why_chain *chain, const char *data_dir, const char *name,
                  const char **ret_run, struct err *err);

/* A state of a peel, from the newest job that ran states there; the job and its causes follow. */
int why_add_peel_state(struct why_chain *chain, struct fleet *fleet, const char *peel,
                       const char *name, struct err *err);

/* The run alone, as a cause. */
void why_add_run(struct why_chain *chain, const struct lastrun *run);

#endif
