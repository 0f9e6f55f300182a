/*
 * catalog - the command table of a program as data, for those who write about it.
 *
 * `PROGRAM --command-table` prints it as JSON. The manual pages are made of it (tools/manual.py),
 * so a new command is in its page as soon as it is in the table.
 */
#ifndef COMMANDS_CLI_SHARED_CATALOG_H
#define COMMANDS_CLI_SHARED_CATALOG_H

#define CATALOG_OPTION "--command-table"

struct cli;

/* On stdout; returns the exit status. */
int catalog_print(struct cli *cli);

#endif
