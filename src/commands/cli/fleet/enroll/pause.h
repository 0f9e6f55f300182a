/*
 * enroll_pause - 'zester enroll pause' and 'resume': whether new machines may ask to join.
 */
#ifndef COMMANDS_CLI_FLEET_ENROLL_PAUSE_H
#define COMMANDS_CLI_FLEET_ENROLL_PAUSE_H

#include "commands/cli/shared/command.h"
#include "commands/cli/fleet/link.h"

struct enroll_pause_args {
    struct fleet_options fleet;
    const char *reason;
};

int enroll_run_pause(struct cli *cli, const void *args, struct param_strs operands);
int enroll_run_resume(struct cli *cli, const void *args, struct param_strs operands);

/* Print a line on stderr if enrollment is paused, which explains a short list. */
int enroll_pause_remark(struct fleet *fleet, struct err *err);

#endif
