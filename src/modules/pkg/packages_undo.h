/*
 * packages_undo - what a package state did to a machine, and how to take it back.
 *
 *     packages_undo_begin -> run the manager -> packages_undo_end     in apply
 *     packages_undo_revert                                            in revert
 *
 * Before the manager runs, the packages that the state names are noted as they are;
 * afterwards everything else that changed with them is noted too: dependencies that
 * came along, packages that had to go. A revert removes only what was not there
 * before, and nothing that somebody else needs by now; what was there comes back in
 * the version it had; what was held is held again.
 *
 * Memory: the arena of the run. Threads: as packages.
 */
#ifndef MODULES_PKG_PACKAGES_UNDO_H
#define MODULES_PKG_PACKAGES_UNDO_H

#include "base/map.h"

struct err;
struct packages;
struct packages_wants;
struct state_run;
struct value;

/* All packages before an action: names, or name:arch, to struct package. */
struct packages_undo {
    struct map before;
};

int packages_undo_begin(struct packages *packages, const struct packages_wants *wants,
                        struct packages_undo *ret_undo, struct err *err);
/* The same without a note, for functions that leave nothing to revert. */
int packages_undo_look(struct packages *packages, struct packages_undo *ret_undo, struct err *err);
/* What changed since: a map of names to "old -> new". */
int packages_undo_tell(struct packages *packages, const struct packages_undo *undo,
                       struct value *ret, struct err *err);
/* Note and tell (as details) what changed; also after an action that failed. */
int packages_undo_end(struct packages *packages, const struct packages_undo *undo, struct err *err);

/* The whole revert of a package state, whatever its arguments. */
int packages_undo_revert(struct state_run *run, const void *args, struct err *err);

#endif
