/*
 * starter - a configuration of an agent to begin with: `zester peel init`.
 */
#ifndef COMMANDS_CLI_FLEET_PEEL_STARTER_H
#define COMMANDS_CLI_FLEET_PEEL_STARTER_H

#include "commands/cli/shared/command.h"

struct peel_starter_args {
    const char *output; /* NULL: standard output */
};

/* No fleet is asked. A file that is there is never overwritten. */
int peel_run_init(struct cli *cli, const void *args, struct param_strs operands);

#endif
