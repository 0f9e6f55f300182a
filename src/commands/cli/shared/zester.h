/*
 * zester - the common parts of the two programs called zester: name, help, exit statuses, and local
 * mode.
 */
#ifndef COMMANDS_CLI_SHARED_ZESTER_H
#define COMMANDS_CLI_SHARED_ZESTER_H

#include "commands/cli/shared/command.h"

#define ZESTER_LOCAL "--local"

extern const char zester_details[];

/* The members of struct program that are the same in both. */
#define ZESTER_PROGRAM                                                                             \
    .name = "zester", .summary = "bring machines to a declared state, and keep them there",        \
    .details = zester_details,                                                                     \
    .statuses = "0 done; 1 wrong usage, a mistake in a file, or no connection; 2 a state or a\n"   \
                "peel failed; 3 a peel did not answer; 4 both; 5 no peel matched",                 \
    .other_word = ZESTER_LOCAL, .other = &command_local

#endif
