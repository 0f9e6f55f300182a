/*
 * screen - the size of the terminal behind standard error, else behind standard output.
 */
#ifndef COMMANDS_CLI_SHARED_SCREEN_H
#define COMMANDS_CLI_SHARED_SCREEN_H

#include <stddef.h>

#define SCREEN_ROWS_UNKNOWN    24
#define SCREEN_COLUMNS_UNKNOWN 80

struct screen {
    size_t rows, columns;
};

/* Falls back to the size of a plain terminal. */
struct screen screen_size(void);

#endif
