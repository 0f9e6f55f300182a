/*
 * removals - paths that a state removes: found by a walk, reported one by one, removed.
 *
 *     removals_add... -> removals_check | removals_apply
 *
 * Paths that another state of the run manages stay. Memory: the arena of the run.
 */
#ifndef STATES_MODULES_FILE_REMOVALS_H
#define STATES_MODULES_FILE_REMOVALS_H

#include "core/base/vec.h"

struct err;
struct state_run;

struct removals {
    VEC(const char *) list; /* the contents of a folder before the folder */
};

/* Keeps a copy of the path. */
void removals_add(struct state_run *run, struct removals *removals, const char *path);
/* Report what would be removed from `folder`. */
void removals_check(struct state_run *run, const struct removals *removals, const char *folder);
int removals_apply(struct state_run *run, const struct removals *removals, const char *folder,
                   struct err *err);

#endif
