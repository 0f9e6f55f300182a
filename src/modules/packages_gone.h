/*
 * packages_gone - packages that shall not be there: pkg.removed and pkg.purged, which
 * differ in whether configuration files may stay.
 *
 * Memory: the arena of the run. Threads: as packages.
 */
#ifndef MODULES_PACKAGES_GONE_H
#define MODULES_PACKAGES_GONE_H

#include <stdbool.h>

struct err;
struct packages_args;
struct state_run;

int packages_gone_check(struct state_run *run, const struct packages_args *args, bool purge,
                        struct err *err);
int packages_gone_apply(struct state_run *run, const struct packages_args *args, bool purge,
                        struct err *err);
int packages_gone_revert(struct state_run *run, struct err *err);

#endif
