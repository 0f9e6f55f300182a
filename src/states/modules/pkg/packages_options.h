/*
 * packages_options - the install options shared by pkg.installed and
 * pkg.latest.
 *
 * Memory: as the arguments of the state. Threads: any.
 */
#ifndef STATES_MODULES_PKG_PACKAGES_OPTIONS_H
#define STATES_MODULES_PKG_PACKAGES_OPTIONS_H

#include <stdbool.h>

#include "states/state/module.h"

struct package_request;

struct packages_options {
    enum param_tristate recommends, aggregate;
    bool update_holds, skip_verify, only_upgrade;
    const char *fromrepo;
};

/* clang-format off */
#define PACKAGES_OPTIONS(type, field)                                                                                              \
    PARAM("update_holds", BOOL, type, field.update_holds, "also change held packages, and hold them again"),                 \
    PARAM("fromrepo", STR, type, field.fromrepo, "install from this repository; for apt: a release", .flags = PARAM_FILLED),         \
    PARAM("skip_verify", BOOL, type, field.skip_verify, "do not verify signatures"),                                                   \
    PARAM("install_recommends", TRISTATE, type, field.recommends, "install recommended packages (default: as the manager is configured)"), \
    PARAM("only_upgrade", BOOL, type, field.only_upgrade, "only upgrade; do not install missing packages"),                                   \
    PACKAGES_AGGREGATE(type, field.aggregate)
/* clang-format on */

int packages_options_validate(const struct packages_options *options, const struct value *where,
                              struct diags *diags);
/* Can one run of the manager serve both? */
bool packages_options_fit(const struct packages_options *a, const struct packages_options *b);
void packages_options_use(const struct packages_options *options, struct package_request *request);

#endif
