/*
 * command_line - the command lines of running processes.
 *
 * Threads: any.
 */
#ifndef STATES_PROVIDER_COMMAND_LINE_H
#define STATES_PROVIDER_COMMAND_LINE_H

#include <stdbool.h>

struct err;

/* Does any other process have `text` in its command line, with arguments separated by blanks? */
int command_line_find(const char *text, bool *ret_found, struct err *err);

#endif
