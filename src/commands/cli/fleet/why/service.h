/*
 * why_service - how a service of kepler got its status, and the run of states that asked for it.
 *
 *     service <- run <- job (commands/cli/fleet/why/fleet.h)
 *
 * The history of the service says what happened last: a request, or something else, such as the
 * end of a process. A request that came while the last run of states of
 * that machine was under way is taken for one of that run: both times are from the same clock.
 *
 * Memory: the arena of the chain. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_WHY_SERVICE_H
#define COMMANDS_CLI_FLEET_WHY_SERVICE_H

#include <stdint.h>

#include "commands/cli/fleet/why/chain.h"

struct err;
struct fleet;
struct lastrun;

/* A service of this machine. Fails with ERR_NOT_FOUND when kepler has no such service. `data_dir`
 * has the last run; NULL: it is not known. `ret_run` is the id of the run that asked for it; "":
 * none. */
int why_add_service(struct why_chain *chain, const char *name, const char *data_dir,
                    const char **ret_run, struct err *err);

/* A service of a peel, which is asked; the run, its job and its causes follow. */
int why_add_peel_service(struct why_chain *chain, struct fleet *fleet, const char *peel,
                         const char *name, int64_t timeout, struct err *err);

#endif
