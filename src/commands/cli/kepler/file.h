/*
 * kepler_file - loads the config for commands that need no daemon.
 */
#ifndef COMMANDS_CLI_KEPLER_FILE_H
#define COMMANDS_CLI_KEPLER_FILE_H

#include "commands/cli/kepler/kepler.h"

struct config;

/* Load the given file with the caller's environment. Returns 0, or an exit status; all mistakes
 * have been reported. */
int kepler_file_load(struct cli *cli, const struct kepler_globals *globals, struct param_strs flags,
                     const struct config **ret);

/* Also checks values that are only computed when a service starts, and warns of files and accounts
 * missing on this machine. */
int kepler_file_check(struct cli *cli, const struct config *config);

#endif
