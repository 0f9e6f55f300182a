/*
 * tree_board - what this master says of trees in its heartbeats: which are published, which rules
 * it uses, and why newer ones are not in use.
 *
 * Services write rows and notes; `changed` is called after each difference.
 *
 * Memory: lives in its owner's struct. Threads: the loop's.
 */
#ifndef FLEET_MASTER_TREE_BOARD_H
#define FLEET_MASTER_TREE_BOARD_H

#include "core/base/str.h"
#include "fleet/wire/liveness.h"

enum tree_board_row {
    TREE_BOARD_STATES, /* published, by the name of the manifest */
    TREE_BOARD_CANARY,
    TREE_BOARD_SETTINGS,
    TREE_BOARD_REACTOR,
    TREE_BOARD_RULES, /* in use */
};
#define TREE_BOARD_ROWS (TREE_BOARD_RULES + 1)

/* Sources of problems; the first one is shown. */
enum tree_board_source { TREE_BOARD_PUBLISHER, TREE_BOARD_LOADER };
#define TREE_BOARD_SOURCES (TREE_BOARD_LOADER + 1)

struct tree_board {
    char names[TREE_BOARD_ROWS][LIVENESS_TREE_SIZE];
    char problems[TREE_BOARD_SOURCES][LIVENESS_PROBLEM_MAX + 1];
    void (*changed)(void *self); /* may be NULL */
    void *self;
};

/* The tree with this manifest; a NULL view: none. */
void tree_board_put(struct tree_board *board, enum tree_board_row row, struct str manifest);
/* A name that is not of a manifest. */
void tree_board_name(struct tree_board *board, enum tree_board_row row, const char *name);
/* "": no problem. */
void tree_board_note(struct tree_board *board, enum tree_board_source source, const char *problem);
/* The first problem; "": none. */
const char *tree_board_problem(const struct tree_board *board);
/* The published trees, and those in use; the texts are the board's. */
struct liveness_trees tree_board_published(const struct tree_board *board);
struct liveness_trees tree_board_used(const struct tree_board *board);

#endif
