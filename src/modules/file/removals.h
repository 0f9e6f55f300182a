/*
 * removals - paths that a state takes away: found by a walk, told one by one, removed.
 *
 *     removals_add... -> removals_check | removals_apply
 *
 * What another state of the run manages stays. Memory: the arena of the run.
 */
#ifndef MODULES_FILE_REMOVALS_H
#define MODULES_FILE_REMOVALS_H

#include "base/vec.h"

struct err;
struct state_run;

struct removals {
    VEC(const char *) list; /* what is in a folder before the folder */
};

/* Keeps a copy of the path. */
void removals_add(struct state_run *run, struct removals *removals, const char *path);
/* Say what would go from `folder`. */
void removals_check(struct state_run *run, const struct removals *removals, const char *folder);
int removals_apply(struct state_run *run, const struct removals *removals, const char *folder,
                   struct err *err);

#endif
