/*
 * completion - shell completion from the command tables.
 *
 * The script that a shell loads knows every command and option by name; there is
 * nothing to keep in step by hand.
 */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "cli/command.h"

/* `PROGRAM completion bash|zsh`: prints the script. */
extern const struct command completion_command;

#endif
