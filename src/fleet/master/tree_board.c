#include "fleet/master/tree_board.h"

#include <stdio.h>
#include <string.h>

static void report_board_change(const struct tree_board *board)
{
    if (board->changed)
        board->changed(board->self);
}

void tree_board_name(struct tree_board *board, enum tree_board_row row, const char *name)
{
    char *place = board->names[row];

    if (strcmp(place, name) == 0)
        return;
    (void)snprintf(place, LIVENESS_TREE_SIZE, "%s", name);
    report_board_change(board);
}

void tree_board_put(struct tree_board *board, enum tree_board_row row, struct str manifest)
{
    char name[LIVENESS_TREE_SIZE] = "";

    if (manifest.p)
        liveness_name_tree(manifest, name);
    tree_board_name(board, row, name);
}

void tree_board_note(struct tree_board *board, enum tree_board_source source, const char *problem)
{
    const struct str line = liveness_problem(str_from(problem));
    char *place = board->problems[source];

    if (str_eq(line, str_from(place)))
        return;
    memcpy(place, line.p, line.n);
    place[line.n] = '\0';
    report_board_change(board);
}

const char *tree_board_problem(const struct tree_board *board)
{
    for (size_t i = 0; i < TREE_BOARD_SOURCES; i++)
        if (board->problems[i][0])
            return board->problems[i];
    return "";
}

struct liveness_trees tree_board_published(const struct tree_board *board)
{
    return (struct liveness_trees){ .states = board->names[TREE_BOARD_STATES],
                                    .settings = board->names[TREE_BOARD_SETTINGS],
                                    .reactor = board->names[TREE_BOARD_REACTOR],
                                    .canary = board->names[TREE_BOARD_CANARY],
                                    .problem = "",
                                    .refused = "" };
}

struct liveness_trees tree_board_used(const struct tree_board *board)
{
    return (struct liveness_trees){ .states = "",
                                    .settings = "",
                                    .reactor = board->names[TREE_BOARD_RULES],
                                    .canary = "",
                                    .problem = tree_board_problem(board),
                                    .refused = "" };
}
