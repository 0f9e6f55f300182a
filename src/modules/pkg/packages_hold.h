/*
 * packages_hold - packages that stay at their version, or may change again: pkg.held
 * and pkg.unheld.
 *
 * Memory: the arena of the run. Threads: as packages.
 */
#ifndef MODULES_PKG_PACKAGES_HOLD_H
#define MODULES_PKG_PACKAGES_HOLD_H

#include <stdbool.h>

struct err;
struct packages_args;
struct state_run;

/* `alone`: no other package is held. */
struct packages_hold {
    const struct packages_args *what;
    bool held, alone;
};

int packages_hold_check(struct state_run *run, const struct packages_hold *hold, struct err *err);
int packages_hold_apply(struct state_run *run, const struct packages_hold *hold, struct err *err);

#endif
