/*
 * checkout - a folder in the tree of states with the files of a remote's commit.
 *
 * The folder is a working tree of the repository (fleet/gitfs/clone.h), so `git -C FOLDER log` and
 * `status` work in it. It is built elsewhere and moved into place in one step, so the tree never
 * has half a commit. It is ours if its `.git` leads to our store; another folder of this name is
 * never touched.
 *
 * The remote defines the folder's content. A locally edited file is reported, moved to
 * `.zester-kept` in the tree, and replaced.
 *
 * Blocks; for workers. Memory: the arena of the clone. Threads: one at a time for each tree.
 */
#ifndef FLEET_GITFS_CHECKOUT_H
#define FLEET_GITFS_CHECKOUT_H

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct clone;
struct err;

#define CHECKOUT_KEPT ".zester-kept"

struct checkout_report {
    bool is_ours;       /* the folder is a checkout, complete or not; also set on failure */
    const char *commit; /* now in the folder; NULL: none */
    const char *before; /* before; NULL: none */
    bool is_changed;    /* the folder was replaced */
    bool is_rewritten;  /* `before` is not in the history of `commit`: a forced push */
    size_t edits;       /* files that differed from the commit */
    const char *edit;   /* one of them */
    bool was_damaged;   /* git could not read the folder: all of it was kept */
};

/* Updates the folder from the remote; a failure leaves it unchanged. */
int checkout_pull(const struct clone *clone, struct checkout_report *ret, struct err *err);
/* Reverts local edits, without asking the remote. Fails with ERR_NOT_FOUND without an earlier
 * checkout. */
int checkout_restore(const struct clone *clone, struct checkout_report *ret, struct err *err);

/* Is the folder a checkout of ours? */
bool checkout_is_ours(struct arena *arena, const char *folder, const char *name);

#endif
