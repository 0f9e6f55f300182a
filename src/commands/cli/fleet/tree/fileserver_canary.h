/*
 * fileserver_canary - `zester fileserver canary` and `promote`: a revision of the states that some
 * peels try first.
 */
#ifndef COMMANDS_CLI_FLEET_TREE_FILESERVER_CANARY_H
#define COMMANDS_CLI_FLEET_TREE_FILESERVER_CANARY_H

#include <stdbool.h>

#include "commands/cli/shared/command.h"
#include "commands/cli/fleet/link.h"

struct fileserver_canary_args {
    struct fleet_options fleet;
    bool abort, no_wait;
};

#define FILESERVER_NO_WAIT(type)                                                                   \
    PARAM("no-wait", BOOL, type, no_wait, "do not wait until masters and online peels have it")

extern const struct param fileserver_canary_options[];
extern const struct param fileserver_canary_promote_options[];

/* Begin one, show it, or abort it. */
int fileserver_canary_run(struct cli *cli, const void *args, struct param_strs operands);
int fileserver_canary_promote(struct cli *cli, const void *args, struct param_strs operands);

#endif
