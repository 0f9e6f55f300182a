/*
 * packages_share - states of a level that one run of the package manager serves.
 *
 * The first state of a level that has something to do does it for all of its kind whose
 * options allow one command line. For each of the others it leaves a gift: what it did,
 * which the other one tells as a change of its own. Nobody fails for the package of
 * another: what a common run did not bring is tried by itself.
 *
 *     packages_share_gift                                     in check and in apply
 *     packages_share_begin -> packages_share_act              in apply, between the two
 *                                                             calls of packages_undo;
 *                                                             packages_share_change is both
 *
 * Memory: the arena of the run. Threads: under PACKAGES_LOCK.
 */
#ifndef MODULES_PKG_PACKAGES_SHARE_H
#define MODULES_PKG_PACKAGES_SHARE_H

#include <stdbool.h>

#include "modules/pkg/packages.h"

struct module;

/* One kind of state that shares. */
struct packages_share {
    const struct module *module;
    const char *verb; /* "installed" */
    /* One command line can serve the arguments of both. */
    bool (*fits)(const void *a, const void *b);
    /* What these arguments want to have done; says nothing. */
    int (*find)(struct state_run *run, const void *args, struct packages_wants *ret_unmet,
                struct err *err);
    /* What can be had of them; NULL when that does not matter. */
    int (*offers)(struct packages *packages, const void *args, const struct packages_wants *unmet,
                  struct package_offers *ret, struct err *err);
    /* Run the manager for them, with the options of `args`. */
    int (*act)(struct packages *packages, const void *args, const struct packages_wants *unmet,
               const struct package_offers *offers, struct err *err);
    /* Is it so with one that was looked at again? */
    bool (*is_done)(const struct packages *packages, const struct packages_want *want);
};

struct packages_sharer {
    const char *name; /* of the state */
    struct packages_wants unmet;
};

struct packages_party {
    struct packages *packages;
    const struct packages_share *share;
    const void *args;
    struct packages_wants own, all; /* all: with what the others lack */
    VEC(struct packages_sharer) others;
    const char *remark; /* what the manager complained about, though all is done; NULL */
};

/* What another state did for this one; NULL. */
const char *packages_share_gift(const struct state_run *run);
/* `own` is what the state itself lacks. From now on nobody works for it. */
void packages_share_begin(struct packages_party *party, struct packages *packages,
                          const struct packages_share *share, const void *args,
                          const struct packages_wants *own);
/* Fails when something of `own` is not done. */
int packages_share_act(struct packages_party *party, struct err *err);
/* All of it, with what a revert needs, for states that do nothing else. */
int packages_share_change(struct packages *packages, const struct packages_share *share,
                          const void *args, const struct packages_wants *own,
                          const char **ret_remark, struct err *err);

#endif
