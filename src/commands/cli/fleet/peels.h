/*
 * fleet_peels - reads the machines of a fleet: fleet/view/peels.h has what they are.
 *
 *     fleet_peels_read -> [fleet_runs_read] -> ...
 */
#ifndef COMMANDS_CLI_FLEET_PEELS_H
#define COMMANDS_CLI_FLEET_PEELS_H

#include "fleet/view/peels.h"

struct err;
struct fleet;

/* Read all peels that have published facts, sorted. `peels` is empty before. */
int fleet_peels_read(struct fleet *fleet, struct fleet_peels *peels, struct err *err);

/* The published trees, from the heartbeats of masters. */
struct fleet_trees;
int fleet_peels_read_trees(struct fleet *fleet, struct fleet_trees *ret, struct err *err);

/* The machine of this name alone, for those who read the runs of several. Both lists are empty
 * before. Fails with ERR_NOT_FOUND. */
int fleet_peels_find(struct fleet *fleet, const char *name, struct fleet_peels *all,
                     struct fleet_peels *ret_one, struct err *err);

#endif
