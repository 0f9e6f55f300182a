/*
 * packages_share - one run of the package manager for several states of a level.
 *
 * The first state of a level with something to do does it for all of its kind whose options fit one
 * command line. For each of the others it leaves a gift: a record of the work, which that state
 * reports as its own change. No state fails because of another's package: what a shared run did not
 * achieve is retried alone.
 *
 *     packages_share_gift                                     in check and in apply
 *     packages_share_begin -> packages_share_act              in apply, between the two
 *                                                             calls of packages_undo;
 *                                                             packages_share_change is both
 *
 * Memory: the arena of the run. Threads: under PACKAGES_LOCK.
 */
#ifndef STATES_MODULES_PKG_PACKAGES_SHARE_H
#define STATES_MODULES_PKG_PACKAGES_SHARE_H

#include <stdbool.h>

#include "states/modules/pkg/packages.h"

struct module;

/* One kind of state that shares runs. */
struct packages_share {
    const struct module *module;
    const char *verb; /* "installed" */
    /* One command line can serve the arguments of both. */
    bool (*fits)(const void *a, const void *b);
    /* The packages to change for these arguments; reports nothing. */
    int (*find)(struct state_run *run, const void *args, struct packages_wants *ret_unmet,
                struct err *err);
    /* Their available versions; NULL when they do not matter. */
    int (*offers)(struct packages *packages, const void *args, const struct packages_wants *unmet,
                  struct package_offers *ret, struct err *err);
    /* Run the manager for them with the options of `args`. */
    int (*act)(struct packages *packages, const void *args, const struct packages_wants *unmet,
               const struct package_offers *offers, struct err *err);
    /* Is it done for a package that was looked up again? */
    bool (*is_done)(const struct packages *packages, const struct packages_want *want);
};

struct packages_sharer {
    const char *name; /* state name */
    struct packages_wants unmet;
};

struct packages_party {
    struct packages *packages;
    const struct packages_share *share;
    const void *args;
    struct packages_wants own, all; /* all packages, including those for other states */
    VEC(struct packages_sharer) others;
    const char *remark; /* complaints of the manager, though all is done; NULL */
};

/* The changes that another state made for this one; NULL: none. */
const char *packages_share_gift(const struct state_run *run);
/* `own` is what the state itself needs. From now on no other state works for it. */
void packages_share_begin(struct packages_party *party, struct packages *packages,
                          const struct packages_share *share, const void *args,
                          const struct packages_wants *own);
/* Fails if something of `own` is not done. */
int packages_share_act(struct packages_party *party, struct err *err);
/* All of it, with notes for a revert, for states that do nothing else. */
int packages_share_change(struct packages *packages, const struct packages_share *share,
                          const void *args, const struct packages_wants *own,
                          const char **ret_remark, struct err *err);

#endif
