/*
 * mirror - a bare repository that follows another one: all branches and tags or, as a mirror, all
 * references, with those deleted there deleted here.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_GIT_MIRROR_H
#define STATES_MODULES_GIT_MIRROR_H

struct err;
struct repo_args;
struct state_run;

int mirror_check(struct state_run *run, const struct repo_args *args, struct err *err);
int mirror_apply(struct state_run *run, const struct repo_args *args, struct err *err);
/* Remove a clone that the run made, else restore the references. */
int mirror_revert(struct state_run *run, const struct repo_args *args, struct err *err);

#endif
