/*
 * list_view - a list on a terminal: its size, the row under the cursor, what is filtered, and the
 * keys that change that.
 *
 * Pure. Memory: none. Threads: any.
 */
#ifndef COMMANDS_CLI_SHARED_LIST_VIEW_H
#define COMMANDS_CLI_SHARED_LIST_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"
#include "commands/cli/shared/color.h"

struct buf;

#define LIST_VIEW_FILTER_SIZE 64

struct list_view {
    char filter[LIST_VIEW_FILTER_SIZE]; /* a part of the row; "": all rows */
    bool is_typing;                     /* keys go to the filter */
    size_t selected;                    /* the row under the cursor, in the filtered list */
    size_t first;                       /* the row at the top */
    size_t page;                        /* rows that were shown last */
    size_t rows, columns;               /* of the terminal; 0 rows: no limit, and no cursor */
    bool color;
};

/* Moving, and the filter. False: the key means something else. */
bool list_view_press(struct list_view *view, int key);
/* Go to the beginning, for another list. */
void list_view_rewind(struct list_view *view);
/* Keep cursor and page within so many rows. */
void list_view_clamp(struct list_view *view, size_t count, size_t page);
/* One line of a picture, cut to the width; colours are not counted. */
void list_view_line(const struct list_view *view, struct str text, enum color color,
                    bool is_selected, struct buf *out);

#endif
