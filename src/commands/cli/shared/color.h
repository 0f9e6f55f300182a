/*
 * color - emphasis on terminals.
 */
#ifndef COMMANDS_CLI_SHARED_COLOR_H
#define COMMANDS_CLI_SHARED_COLOR_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct buf;

enum color {
    COLOR_NONE,
    COLOR_RED,
    COLOR_GREEN,
    COLOR_YELLOW,
    COLOR_BLUE,
    COLOR_MAGENTA,
    COLOR_CYAN,
    COLOR_DIM,
};

/* A terminal that understands escapes: not a dumb one. */
bool color_is_terminal(int fd);

/* The value of the variable: true or 1, false or 0. Otherwise, and when its name is NULL: on a
 * terminal, unless NO_COLOR is set. */
bool color_is_wanted(const char *variable, int fd);
/* The colour of item `i` of many. */
enum color color_of_number(size_t i);

/* The escape sequences that begin a colour, and that end any. */
const char *color_code(enum color color);
#define COLOR_OFF "\x1b[0m"

/* The length of such a sequence at the beginning; 0: none is there. */
size_t color_length_at(struct str text);

/* Nothing when `on` is false or there is no colour. */
void color_begin(struct buf *out, enum color color, bool on);
void color_end(struct buf *out, enum color color, bool on);

#endif
