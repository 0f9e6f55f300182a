/*
 * newest - packages at the newest version that their repositories have, for pkg.latest and
 * pkg.uptodate.
 *
 * The index is refreshed first, once for several such states; a dry run uses it as it is.
 *
 * Memory: the arena of the run. Threads: states take the lock PACKAGES_LOCK.
 */
#ifndef STATES_MODULES_PKG_NEWEST_H
#define STATES_MODULES_PKG_NEWEST_H

#include <stdbool.h>
#include <stdint.h>

#include "states/modules/pkg/packages.h"
#include "states/modules/pkg/packages_options.h"

struct err;
struct state_run;

struct newest_args {
    struct packages_args what;
    struct packages_options how;
    enum param_tristate refresh;
    int64_t cache_valid_time;
    bool quiet; /* say nothing of packages that are in order */
};

int newest_check(struct state_run *run, const void *args, struct err *err);
int newest_apply(struct state_run *run, const void *args, struct err *err);

#endif
