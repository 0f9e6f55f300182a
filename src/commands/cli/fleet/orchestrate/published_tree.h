/*
 * published_tree - the states that masters publish, in a folder of this run.
 *
 *     published_tree_open -> use `folder` -> published_tree_done (always)
 *
 * The folder is private, complete, and checked against the signature of the fleet's account where
 * its key is on this machine. Threads: one; blocks.
 */
#ifndef COMMANDS_CLI_FLEET_ORCHESTRATE_PUBLISHED_TREE_H
#define COMMANDS_CLI_FLEET_ORCHESTRATE_PUBLISHED_TREE_H

#include <stdbool.h>

struct arena;
struct err;
struct fleet_options;

struct published_tree {
    const char *folder; /* NULL: not fetched */
    const char *root;   /* removed at the end */
};

int published_tree_open(struct arena *arena, const struct fleet_options *options,
                        struct published_tree *ret, struct err *err);
/* All zero is fine. */
void published_tree_done(struct published_tree *tree);

#endif
