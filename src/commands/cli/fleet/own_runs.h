/*
 * fleet_own_runs - the states of last runs that were not jobs (scheduled, local and direct ones),
 * read from the machines with state.last.
 *
 * Memory: the arena of the peels. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_OWN_RUNS_H
#define COMMANDS_CLI_FLEET_OWN_RUNS_H

#include <stdint.h>

#include "core/base/map.h"
#include "commands/cli/fleet/runs.h"

/* By the id of the peel. */
struct fleet_own_runs {
    struct map states; /* struct lastrun_states, of the run that the peel has as its last */
    struct map errors; /* text: why there are none */
};

/* Ask the peels that are online and whose last run is not among `runs`; a dry run only when there
 * is nothing else. Machines that do not answer within `timeout` are among the errors. */
int fleet_own_runs_read(struct fleet *fleet, const struct fleet_peels *peels,
                        const struct fleet_runs *runs, int64_t timeout,
                        struct fleet_own_runs *ret_own, struct err *err);

#endif
