/*
 * fileserver_canary - `zester fileserver canary` and `promote`: a revision of the states that some
 * peels try first.
 */
#ifndef CLI_FILESERVER_CANARY_H
#define CLI_FILESERVER_CANARY_H

#include <stdbool.h>

#include "cli/command.h"
#include "cli/fleet/link.h"

struct fileserver_canary_args {
    struct fleet_options fleet;
    bool abort;
};

extern const struct param fileserver_canary_options[];
extern const struct param fileserver_canary_promote_options[];

/* Begin one, show it, or abort it. */
int fileserver_canary_run(struct cli *cli, const void *args, struct param_strs operands);
int fileserver_canary_promote(struct cli *cli, const void *args, struct param_strs operands);

#endif
