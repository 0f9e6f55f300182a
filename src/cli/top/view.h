/*
 * top_view - how an operator looks at a fleet: which list, from where, in which order, and the
 * keys that change it.
 *
 *     while ((key = top_key_next(&bytes)) != TOP_KEY_NONE)
 *         top_view_press(&view, key);
 *
 * Pure. Memory: none. Threads: any.
 */
#ifndef CLI_TOP_VIEW_H
#define CLI_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum top_list { TOP_MACHINES, TOP_JOBS, TOP_EVENTS, TOP_REACTIONS };
#define TOP_LISTS (TOP_REACTIONS + 1)

/* Of machines; the other lists have the newest first. */
enum top_sort { TOP_SORT_NAME, TOP_SORT_DRIFT, TOP_SORT_SEEN, TOP_SORT_CONVERGED };
#define TOP_SORTS (TOP_SORT_CONVERGED + 1)
const char *top_sort_name(enum top_sort sort);

#define TOP_FILTER_SIZE 64

struct top_view {
    enum top_list list;
    enum top_sort sort;
    bool reverse;
    char filter[TOP_FILTER_SIZE]; /* a part of the row; "": all rows */
    bool is_typing;               /* keys go to the filter */
    bool is_over;                 /* the operator leaves */
    bool is_suspended;            /* ... for a while */
    size_t selected;              /* the row under the cursor, in the filtered list */
    size_t first;                 /* the row at the top */
    size_t page;                  /* rows that were shown last */
    size_t rows, columns;         /* of the terminal; 0 rows: no limit, and no cursor */
    bool color;
};

/* Keys above the bytes, which stand for themselves. */
enum top_key {
    TOP_KEY_NONE = -1,
    TOP_KEY_UP = 256,
    TOP_KEY_DOWN,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
    TOP_KEY_ESCAPE,
    TOP_KEY_OTHER, /* a sequence that means nothing here */
};

/* Remove the first key from what a terminal sent. An unfinished sequence is the Escape key. */
int top_key_next(struct str *bytes);
void top_view_press(struct top_view *view, int key);
/* Keep cursor and page within so many rows. */
void top_view_clamp(struct top_view *view, size_t count, size_t page);

#endif
