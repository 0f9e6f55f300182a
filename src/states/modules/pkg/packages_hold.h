/*
 * packages_hold - holds and releases packages: pkg.held and pkg.unheld.
 *
 * Memory: the arena of the run. Threads: as packages.
 */
#ifndef STATES_MODULES_PKG_PACKAGES_HOLD_H
#define STATES_MODULES_PKG_PACKAGES_HOLD_H

#include <stdbool.h>

struct err;
struct packages_args;
struct state_run;

/* `alone`: release all other packages. */
struct packages_hold {
    const struct packages_args *what;
    bool held, alone;
};

int packages_hold_check(struct state_run *run, const struct packages_hold *hold, struct err *err);
int packages_hold_apply(struct state_run *run, const struct packages_hold *hold, struct err *err);

#endif
