/*
 * color - emphasis on terminals.
 */
#ifndef CLI_COLOR_H
#define CLI_COLOR_H

#include <stdbool.h>

struct buf;

enum color { COLOR_NONE, COLOR_RED, COLOR_GREEN, COLOR_YELLOW, COLOR_BLUE, COLOR_DIM };

/* A terminal that understands escapes: none that calls itself dumb. */
bool color_is_terminal(int fd);

/* Nothing when `on` is false or there is no colour. */
void color_begin(struct buf *out, enum color color, bool on);
void color_end(struct buf *out, enum color color, bool on);

#endif
