/*
 * event_why - the outcome of an event, its causes and its effects.
 *
 * Memory: the arena of the command. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_EVENT_EVENT_WHY_H
#define COMMANDS_CLI_FLEET_EVENT_EVENT_WHY_H

#include "commands/cli/fleet/link.h"

struct cli;
struct err;
struct outcome;

/* Read the record of an event. Fails with ERR_NOT_FOUND. */
int event_read_outcome(struct fleet *fleet, const char *id, struct outcome *ret, struct err *err);

/* Print it; returns the exit status. */
int event_why(struct cli *cli, const struct fleet_options *options, const char *id);

#endif
