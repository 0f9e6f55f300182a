/*
 * fleet_revert - state.revert on other machines: mistakes are found, and people asked, before
 * anything is sent.
 *
 *     fleet_revert_read, once the targets are known fleet_revert_ask
 *
 * Both do nothing for other functions. Memory: the arena of the command. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_REVERT_H
#define COMMANDS_CLI_FLEET_REVERT_H

#include <stddef.h>

struct cli;
struct fleet_words;
struct value;

/* Both return the exit status; mistakes are printed. */
int fleet_revert_read(struct cli *cli, const struct fleet_words *words);
/* Ask on a terminal, and say yes in the arguments. Without a terminal, more than one run requires
 * yes=True. */
int fleet_revert_ask(struct cli *cli, const char *function, const char *id, struct value *args,
                     size_t machines);

#endif
