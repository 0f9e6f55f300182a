/*
 * package_request - a request to a package manager, and its command line.
 *
 * Memory: the arena of the host. Threads: the callers keep two runs of a manager apart.
 */
#ifndef STATES_PROVIDER_PACKAGE_REQUEST_H
#define STATES_PROVIDER_PACKAGE_REQUEST_H

#include <stdbool.h>

#include "core/base/vec.h"

struct err;
struct package_host;
struct package_manager;

enum package_action {
    PACKAGE_INSTALL, /* with versions, also upgrades, and downgrades if allowed */
    PACKAGE_REMOVE,
    PACKAGE_PURGE,     /* with configuration files, where the manager tracks them */
    PACKAGE_MAY_ERASE, /* fails when other packages need them; changes nothing */
    PACKAGE_HOLD,
    PACKAGE_UNHOLD,
    PACKAGE_REFRESH, /* the package index */
};
#define PACKAGE_ACTIONS (PACKAGE_REFRESH + 1)

/* One package of a request. */
struct package_target {
    const char *name;
    const char *version; /* NULL: the candidate */
    const char *file;    /* a package file instead; NULL */
    bool older;          /* the version is older than the installed one */
};

struct package_request {
    enum package_action action;
    VEC(struct package_target) targets;
    const char *fromrepo; /* NULL: all of them */
    int recommends;       /* 1: with, -1: without, 0: as configured */
    const char *list;     /* refresh: only this list of repositories; NULL: all */
    bool skip_verify;     /* do not verify signatures */
    bool change_held;     /* include held packages */
    bool reinstall;       /* reinstall installed packages */
};

/* Run the manager once for the whole request (twice if downgrades need a separate command). Fails
 * with its output. */
int package_request_run(const struct package_manager *manager, const struct package_host *host,
                        const struct package_request *request, struct err *err);
/* Does the manager support the action? */
bool package_request_can(const struct package_manager *manager, enum package_action action);

#endif
