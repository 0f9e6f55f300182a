/*
 * advertised - what a name means in the remote repository, by `git ls-remote`.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_GIT_ADVERTISED_H
#define STATES_MODULES_GIT_ADVERTISED_H

#include <stdbool.h>

struct err;
struct repo_args;
struct state_run;

struct advertised {
    const char *commit; /* the commit that a tag names; NULL: no branch or tag has the name */
    bool is_branch, is_tag;
};

/* The whole name of a branch or tag, or HEAD. A full commit is taken as it is, without a query. */
int advertised_find(struct state_run *run, const struct repo_args *args, const char *name,
                    struct advertised *ret, struct err *err);

/* 40 hexadecimal digits. */
bool advertised_is_commit(const char *rev);

#endif
