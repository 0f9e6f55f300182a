/*
 * checkout - a folder of the tree of states that has the files of a commit of a remote.
 *
 * The folder is a working tree of the repository (fleet/gitfs/clone.h), so `git -C FOLDER log` and
 * `status` work in it. It is made beside, whole, and put in its place in one step, so the tree
 * never has half of a commit. It is ours when its `.git` leads to our store; another folder of this
 * name is never touched.
 *
 * The remote says what is in the folder. A file that somebody edited in it is reported, kept in
 * `.zester-kept` of the tree, and replaced.
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
    bool is_ours;       /* the folder is a checkout, whole or not; also set on failure */
    const char *commit; /* of what the folder has now; NULL: it has nothing */
    const char *before; /* what it had; NULL: nothing */
    bool is_changed;    /* the folder was replaced */
    bool is_rewritten;  /* `before` is not in the history of `commit`: a forced push */
    size_t edits;       /* files that were not as in the commit */
    const char *edit;   /* one of them */
    bool was_damaged;   /* git could not read the folder: all of it was kept */
};

/* The folder has what the remote has; on failure it stays as it is. */
int checkout_pull(const struct clone *clone, struct checkout_report *ret, struct err *err);
/* The folder has what it had, without asking the remote; edits are reverted. Fails with
 * ERR_NOT_FOUND when there never was a checkout. */
int checkout_restore(const struct clone *clone, struct checkout_report *ret, struct err *err);

/* Was the folder made here? */
bool checkout_is_ours(struct arena *arena, const char *folder, const char *name);

#endif
