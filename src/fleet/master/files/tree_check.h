/*
 * tree_check - finds the mistakes in the folders of a master before they are published.
 *
 *     tree_check_new -> tree_check_machine... -> tree_check_at... -> tree_check_free
 *
 * The rules of the reactor are read as `zester reactor check` does. For each machine, its settings
 * are rendered with its facts, and the states that the top file gives it are compiled with both, as
 * the machine would. Equal inputs are compiled once: of the facts, only those count whose names
 * occur in the files.
 *
 * A template that asks the machine itself (a file, a program, an account), what other machines
 * share, or a secret of a back-end, has an unknown answer here, and that causes no mistake: what
 * depends on it is left out, the other files of the run are checked.
 *
 * Memory: its own; texts live as long as it. Threads: one at a time, any; it reads files.
 */
#ifndef FLEET_MASTER_FILES_TREE_CHECK_H
#define FLEET_MASTER_FILES_TREE_CHECK_H

#include <stdbool.h>
#include <stddef.h>

struct cancel;
struct err;
struct value;

/* Different mistakes that are kept; the others are counted. */
#define TREE_CHECK_MISTAKES_MAX 50
/* Different names in all files; with more, all facts count. */
#define TREE_CHECK_NAMES_MAX 100000

enum tree_check_tree { TREE_CHECK_SETTINGS, TREE_CHECK_STATES, TREE_CHECK_REACTOR };
#define TREE_CHECK_TREES (TREE_CHECK_REACTOR + 1)
const char *tree_check_tree_name(enum tree_check_tree tree);

struct tree_check_mistake {
    enum tree_check_tree tree;
    const char *text; /* "web.zy:3:5: ..."; secrets are masked */
    const char *hint; /* "": none */
    const char *peel; /* the first machine that it concerns; "": all */
    size_t peels;     /* how many */
};

struct tree_check_counts {
    size_t machines; /* that were checked */
    size_t compiled; /* that needed a compilation of their own */
    size_t unknown;  /* where a part has an unknown answer */
    size_t mistakes[TREE_CHECK_TREES];
};

struct tree_check_options {
    const char *states, *settings, *reactor; /* folders, which may be missing */
    const struct cancel *cancel;             /* must outlive it; what it ends is not a mistake */
};

struct tree_check;

/* Reads the settings, the names of facts, and the rules. Fails when a folder cannot be read. */
struct tree_check *tree_check_new(const struct tree_check_options *options, struct err *err);
/* NULL is fine. */
void tree_check_free(struct tree_check *check);

void tree_check_machine(struct tree_check *check, const char *peel, const struct value *facts);

struct tree_check_counts tree_check_count(const struct tree_check *check);
/* The kept mistakes, in the order in which they were found; NULL ends them. */
const struct tree_check_mistake *tree_check_at(const struct tree_check *check, size_t i);

#endif
