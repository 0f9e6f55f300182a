/*
 * repos - what pkgrepo.* states do: which files a repository means, says the package
 * manager (provider/package/repo.h); here they are compared and written.
 *
 *     repos_validate (when the state is read) -> repos_check, repos_apply
 *
 * Memory: the arena of the run. Threads: as packages.
 */
#ifndef MODULES_PKGREPO_REPOS_H
#define MODULES_PKGREPO_REPOS_H

#include <stdbool.h>

#include "provider/package/repo.h"

struct diags;
struct err;
struct state_run;
struct value;

/* The arguments of states. */
struct repos_wish {
    struct package_repo repo;
    bool refresh;
};

/* What a state does with a repository. */
struct repos_goal {
    bool managed;     /* it shall be there */
    const char *verb; /* for the report: what was done to it */
};

/* Of states whose arguments are a repos_wish. */
int repos_validate(const void *wish, const struct value *where, struct diags *diags);
/* Say what differs. */
int repos_check(struct state_run *run, const struct repos_wish *wish, const struct repos_goal *goal,
                struct err *err);
/* Write, or remove, what differs, then refresh the index when `refresh`. An index that cannot be
 * refreshed puts the files back, so that the next run tries again. */
int repos_apply(struct state_run *run, const struct repos_wish *wish, const struct repos_goal *goal,
                struct err *err);

#endif
