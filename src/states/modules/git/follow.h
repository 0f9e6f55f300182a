/*
 * follow - git.latest of files that were written for Salt.
 *
 * There, `rev` names what to follow in the remote repository (its HEAD unless given), and `branch`
 * the local branch that follows it. Without `branch` the branch that is checked out follows,
 * whatever its name is; a copy on no branch moves its HEAD.
 *
 * Only fast-forwards, and not over changes of files, unless `reset` allows more.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_GIT_FOLLOW_H
#define STATES_MODULES_GIT_FOLLOW_H

#include <stdbool.h>

struct err;
struct repo_args;
struct state_run;

/* Whether local commits and changes may be dropped; in the order of the words of force_reset. */
enum follow_reset {
    FOLLOW_KEEP,
    FOLLOW_DROP,         /* always, also without anything new in the remote */
    FOLLOW_DROP_FOR_NEW, /* only to reach another commit */
};

struct follow {
    const struct repo_args *repo;
    enum follow_reset reset;
    bool force_checkout, keep_head;
};

int follow_check(struct state_run *run, const struct follow *follow, struct err *err);
int follow_apply(struct state_run *run, const struct follow *follow, struct err *err);

#endif
