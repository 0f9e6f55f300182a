/*
 * commands - commands that all programs have, each in its own file command_<name>.c. A program
 * lists those it has in a table.
 */
#ifndef COMMANDS_CLI_SHARED_COMMANDS_H
#define COMMANDS_CLI_SHARED_COMMANDS_H

#include "commands/cli/shared/command.h"

/* Shell completion from the command tables, so that it is always complete. */
extern const struct command command_completion;

#endif
