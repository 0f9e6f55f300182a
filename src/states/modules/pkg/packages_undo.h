/*
 * packages_undo - records what a package state changed, and reverts it.
 *
 *     packages_undo_begin -> run the manager -> packages_undo_end     in apply
 *     packages_undo_revert                                            in revert
 *
 * Before the manager runs, the packages that the state names are noted; afterwards, everything else
 * that changed is noted too: new dependencies and removed packages. A revert removes only what was
 * not installed before and is not needed by other packages now; it restores previous versions and
 * holds.
 *
 * Memory: the arena of the run. Threads: as packages.
 */
#ifndef STATES_MODULES_PKG_PACKAGES_UNDO_H
#define STATES_MODULES_PKG_PACKAGES_UNDO_H

#include "core/base/map.h"

struct err;
struct packages;
struct packages_wants;
struct state_run;
struct value;

/* All packages before an action: "name" or "name:arch" to struct package. */
struct packages_undo {
    struct map before;
};

int packages_undo_begin(struct packages *packages, const struct packages_wants *wants,
                        struct packages_undo *ret_undo, struct err *err);
/* The same without a note, for functions, which cannot be reverted. */
int packages_undo_look(struct packages *packages, struct packages_undo *ret_undo, struct err *err);
/* The changes since: a map of names to "old -> new". */
int packages_undo_tell(struct packages *packages, const struct packages_undo *undo,
                       struct value *ret, struct err *err);
/* Note and report (as details) what changed, even after a failed action. */
int packages_undo_end(struct packages *packages, const struct packages_undo *undo, struct err *err);

/* The complete revert of any package state. */
int packages_undo_revert(struct state_run *run, const void *args, struct err *err);

#endif
