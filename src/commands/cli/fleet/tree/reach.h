/*
 * reach - waits until masters and online peels have what was published (fleet/view/trees.h), by
 * their heartbeats.
 *
 * Memory: the arena of the command. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_TREE_REACH_H
#define COMMANDS_CLI_FLEET_TREE_REACH_H

#include "commands/cli/fleet/link.h"
#include "core/data/value.h"

struct cli;

/* Peels fetch within seven seconds; a heartbeat ends after thirty. */
#define REACH_NS (INT64_C(45) * 1000000000)
/* Names on a line; the others are counted. */
#define REACH_NAMED 20

struct reach_options {
    const struct fleet_options *fleet; /* its timeout, if given, replaces REACH_NS */
    bool no_wait;
};

/* `trees`: the map in the answer of the master; null: its version does not say. Prints a line, or
 * adds the key "reach" to `reply`, a map; NULL: a line. Returns CLI_FAILED when some have not got
 * them in time. */
int reach_await(struct cli *cli, const struct reach_options *options, const struct value *trees,
                struct value *reply);

#endif
