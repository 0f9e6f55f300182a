/*
 * package_request - what a package manager is told to do, and the command line of it.
 *
 * Memory: the arena of the host. Threads: the callers keep two runs of a manager apart.
 */
#ifndef PROVIDER_PACKAGE_REQUEST_H
#define PROVIDER_PACKAGE_REQUEST_H

#include <stdbool.h>

#include "base/vec.h"

struct err;
struct package_host;
struct package_manager;

enum package_action {
    PACKAGE_INSTALL, /* with versions, also upgrades, and downgrades when allowed */
    PACKAGE_REMOVE,
    PACKAGE_PURGE,     /* with configuration files, where the manager knows them */
    PACKAGE_MAY_ERASE, /* fails when other packages need them; changes nothing */
    PACKAGE_HOLD,
    PACKAGE_UNHOLD,
    PACKAGE_REFRESH, /* the index of what is there */
};
#define PACKAGE_ACTIONS (PACKAGE_REFRESH + 1)

/* One package of a request. */
struct package_target {
    const char *name;
    const char *version; /* NULL: the candidate */
    const char *file;    /* a package file instead; NULL */
    bool older;          /* the version is older than what is there */
};

struct package_request {
    enum package_action action;
    VEC(struct package_target) targets;
    const char *fromrepo; /* NULL: all of them */
    int recommends;       /* 1: with, -1: without, 0: as configured */
    const char *list;     /* refresh: only what this list of repositories names; NULL: all */
    bool skip_verify;     /* signatures do not matter */
    bool change_held;     /* also packages that are held */
};

/* Run the manager once for all of it (twice where older versions need a command of their own).
 * Fails with what it said. */
int package_request_run(const struct package_manager *manager, const struct package_host *host,
                        const struct package_request *request, struct err *err);
/* Can the manager do that at all? */
bool package_request_can(const struct package_manager *manager, enum package_action action);

#endif
