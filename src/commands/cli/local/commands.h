/*
 * commands - commands that work on this machine, each in its own file command_<name>.c. A program
 * lists those it has in a table.
 */
#ifndef COMMANDS_CLI_LOCAL_COMMANDS_H
#define COMMANDS_CLI_LOCAL_COMMANDS_H

#include "commands/cli/shared/command.h"

/* The manual of modules and template functions. */
extern const struct command command_doc;
/* States and modules on this machine: `zester --local`. */
extern const struct command command_local;
struct buf;
/* For command.ref_functions: state.apply, state.show and others. */
void local_add_ref_functions(struct buf *out);

/* Renders a template, for debugging a state tree. */
extern const struct command command_render;

#endif
