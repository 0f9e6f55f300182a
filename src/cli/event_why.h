/*
 * event_why - what became of an event, what caused it, and what it caused.
 *
 * Memory: the arena of the command. Threads: one.
 */
#ifndef CLI_EVENT_WHY_H
#define CLI_EVENT_WHY_H

#include "cli/fleet_link.h"

struct cli;

/* Print it; returns the exit status. */
int event_why(struct cli *cli, const struct fleet_options *options, const char *id);

#endif
