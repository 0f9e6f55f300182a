/*
 * top_view - the list that an operator looks at, its position and order, and the keys that change
 * them.
 *
 *     while ((key = key_next(&bytes)) != KEY_NONE)
 *         top_view_press(&view, key);
 *
 * Pure. Memory: none. Threads: any.
 */
#ifndef COMMANDS_CLI_FLEET_TOP_VIEW_H
#define COMMANDS_CLI_FLEET_TOP_VIEW_H

#include <stdbool.h>

#include "commands/cli/shared/list_view.h"

enum top_panel { TOP_MACHINES, TOP_JOBS, TOP_EVENTS, TOP_REACTIONS };
#define TOP_LISTS (TOP_REACTIONS + 1)

/* Order of the machines; the other lists are sorted newest first. */
enum top_sort { TOP_SORT_NAME, TOP_SORT_DRIFT, TOP_SORT_SEEN, TOP_SORT_CONVERGED };
#define TOP_SORTS (TOP_SORT_CONVERGED + 1)
const char *top_sort_name(enum top_sort sort);

/* Size of the id of a row. */
#define TOP_OPEN_SIZE 320

struct top_view {
    struct list_view base;
    enum top_panel list;
    enum top_sort sort;
    bool reverse;
    bool has_help;            /* the keys are explained */
    bool is_open;             /* one row is shown in full */
    char open[TOP_OPEN_SIZE]; /* its id; "": the row under the cursor */
    bool is_over;             /* the operator leaves */
    bool is_suspended;        /* ... for a while */
};

void top_view_press(struct top_view *view, int key);

#endif
