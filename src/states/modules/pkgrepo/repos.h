/*
 * repos - the pkgrepo.* states: the package manager determines the files of a repository
 * (states/provider/package/repo.h); here they are compared and written.
 *
 *     repos_validate (when the state is read) -> repos_check, repos_apply
 *
 * Memory: the arena of the run. Threads: as packages.
 */
#ifndef STATES_MODULES_PKGREPO_REPOS_H
#define STATES_MODULES_PKGREPO_REPOS_H

#include <stdbool.h>

#include "states/provider/package/repo.h"

struct diags;
struct err;
struct state_run;
struct value;

/* The arguments of states. */
struct repos_wish {
    struct package_repo repo;
    bool refresh;
};

/* The goal of a state. */
struct repos_goal {
    bool managed;     /* it must be present */
    const char *verb; /* verb for the report */
};

/* For states whose arguments are a repos_wish. */
int repos_validate(const void *wish, const struct value *where, struct diags *diags);
/* Report what differs. */
int repos_check(struct state_run *run, const struct repos_wish *wish, const struct repos_goal *goal,
                struct err *err);
/* Write or remove what differs, then refresh the index if `refresh`. If that fails, the files
 * are restored, so that the next run tries again. */
int repos_apply(struct state_run *run, const struct repos_wish *wish, const struct repos_goal *goal,
                struct err *err);

#endif
