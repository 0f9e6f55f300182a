/*
 * command_line - what the processes of this machine were started with.
 *
 * Threads: any.
 */
#ifndef PROVIDER_COMMAND_LINE_H
#define PROVIDER_COMMAND_LINE_H

#include <stdbool.h>

struct err;

/* Does any process but this one have `text` in its command line, words with blanks between? */
int command_line_find(const char *text, bool *ret_found, struct err *err);

#endif
