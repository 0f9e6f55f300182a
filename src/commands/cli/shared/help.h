/*
 * help - the texts of --help, from the tables.
 */
#ifndef COMMANDS_CLI_SHARED_HELP_H
#define COMMANDS_CLI_SHARED_HELP_H

struct cli;
struct command;
struct program;

/* All print on stdout and return CLI_OK. */
int help_print_program(const struct program *program);
int help_print_command(const struct cli *cli, const struct command *command);
int help_print_group(const struct cli *cli, const struct command *group);

#endif
