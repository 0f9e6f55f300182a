/*
 * kepler_file - the config as the commands that need no daemon read it.
 */
#ifndef CLI_KEPLER_FILE_H
#define CLI_KEPLER_FILE_H

#include "cli/kepler.h"

struct config;

/* Load the file that was named, with the caller's environment. Returns 0, or an exit status;
 * everything that is wrong has been told. */
int kepler_file_load(struct cli *cli, const struct kepler_globals *globals, struct param_strs flags,
                     const struct config **ret);

/* Check also what is computed only when a service starts, and warn of what this machine lacks. */
int kepler_file_check(struct cli *cli, const struct config *config);

#endif
