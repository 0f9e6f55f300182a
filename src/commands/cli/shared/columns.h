/*
 * columns - a table of text for people: each column as wide as its widest cell.
 *
 *     columns_print(&out, cells, 3, rows);       cells[row * 3 + column]; the first row is the head
 *
 * Cells may come from machines: control characters and broken UTF-8 are shown as '?'.
 */
#ifndef COMMANDS_CLI_SHARED_COLUMNS_H
#define COMMANDS_CLI_SHARED_COLUMNS_H

#include <stddef.h>

#include "core/base/str.h"

struct buf;

#define COLUMNS_MAX 16

/* Append the lines. NULL is an empty cell. */
void columns_print(struct buf *out, const char *const *cells, size_t columns, size_t rows);
/* Append one text with the same replacements. */
void columns_print_text(struct buf *out, const char *text);
/* The same for text of several lines: line breaks, tabs and the colours of
 * commands/cli/shared/color.h stay. */
void columns_print_lines(struct buf *out, struct str text);
/* Write to standard output: on a terminal with the same replacements, so that texts cannot control
 * it, else unchanged. */
void columns_write(struct str text);

#endif
