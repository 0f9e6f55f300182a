/*
 * packages_gone - removal of packages: pkg.removed and pkg.purged, which also removes configuration
 * files.
 *
 * Memory: the arena of the run. Threads: as packages.
 */
#ifndef STATES_MODULES_PKG_PACKAGES_GONE_H
#define STATES_MODULES_PKG_PACKAGES_GONE_H

#include <stdbool.h>

#include "states/modules/pkg/packages.h"

/* The arguments of both. */
struct packages_gone_args {
    struct packages_args what;
    enum param_tristate aggregate;
};

extern const struct param packages_gone_params[];
int packages_gone_validate(const void *args, const struct value *where, struct diags *diags);

int packages_gone_check(struct state_run *run, const struct packages_gone_args *args, bool purge,
                        struct err *err);
int packages_gone_apply(struct state_run *run, const struct packages_gone_args *args, bool purge,
                        struct err *err);

#endif
