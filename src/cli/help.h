/*
 * help - the words of --help, from the tables.
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

struct command;
struct program;

/* Both print on stdout and return CLI_OK. */
int help_print_program(const struct program *program);
int help_print_command(const struct program *program, const struct command *command);

#endif
