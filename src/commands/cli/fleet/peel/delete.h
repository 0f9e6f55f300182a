/*
 * peel_delete - 'zester peel delete' and 'prune': ask a master to remove machines for good, and say
 * what it did.
 */
#ifndef COMMANDS_CLI_FLEET_PEEL_DELETE_H
#define COMMANDS_CLI_FLEET_PEEL_DELETE_H

#include "commands/cli/shared/command.h"
#include "commands/cli/fleet/link.h"

struct peel_delete_args {
    struct fleet_options fleet;
    const char *reason;
    bool force;
    int64_t older; /* nanoseconds */
    bool test;
};

int peel_run_delete(struct cli *cli, const void *args, struct param_strs operands);
int peel_run_prune(struct cli *cli, const void *args, struct param_strs operands);

#endif
