/*
 * reactor_replay - zester reactor replay: runs stored events against a set of rules, and compares
 * with the recorded outcomes.
 */
#ifndef COMMANDS_CLI_FLEET_REACTOR_REACTOR_REPLAY_H
#define COMMANDS_CLI_FLEET_REACTOR_REACTOR_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "commands/cli/fleet/link.h"

struct cli;

struct reactor_replay_options {
    struct fleet_options fleet;
    int64_t since;     /* nanoseconds */
    const char *rules; /* a folder; NULL: the published ones */
    bool changed;      /* only what differs */
};

/* Returns the exit status. */
int reactor_replay(struct cli *cli, const struct reactor_replay_options *options);

#endif
