/*
 * clone - the repository of a checkout, fetched from a remote.
 *
 *     <folder>/<name>                        the checkout (fleet/gitfs/checkout.h)
 *     <folder>/.zester-gitfs/<name>.git      the repository: bare, and no older than needed
 *         refs/zester/head                   what the remote had when it was fetched last
 *         refs/zester/used                   what was checked out last
 *         zester-source                      a sum of the URL and the branch that it follows
 *
 * A repository gets its name once it is complete. Files are checked out byte for byte as committed:
 * attributes that change line endings or run filters have no effect.
 *
 * Blocks; for workers. Only one at a time may use a store: see fleet/gitfs/sync.h. Memory: the
 * arena.
 */
#ifndef FLEET_GITFS_CLONE_H
#define FLEET_GITFS_CLONE_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/gitfs/git.h"

struct arena;
struct cancel;
struct err;
struct remote;

#define CLONE_STORE  ".zester-gitfs"
#define CLONE_SUFFIX ".git"

struct clone {
    struct arena *arena;
    const struct cancel *cancel; /* NULL: not cancelable */
    const char *folder;          /* the tree of states */
    const struct remote *remote;
    int64_t timeout; /* of a fetch after the first clone; nanoseconds */
};

/* The folder of repositories, and a file of this remote in it: "web.git" */
const char *clone_store(struct arena *arena, const char *folder);
const char *clone_path(const struct clone *clone, const char *suffix);
/* To run git in the repository. */
struct git clone_git(const struct clone *clone);

/* Fetches from the remote. A damaged repository is cloned again. */
int clone_fetch(const struct clone *clone, struct err *err);

/* Has the remote or its branch changed since the clone? */
int clone_is_moved(const struct clone *clone, bool *ret, struct err *err);
int clone_note_source(const struct clone *clone, struct err *err);

/* The commit of a name; NULL: none, or no repository. */
int clone_find_commit(const struct clone *clone, const char *name, const char **ret_commit,
                      struct err *err);
/* The used tree of a commit: the remote's `root`, or all. */
int clone_find_tree(const struct clone *clone, const char *commit, const char **ret_tree,
                    struct err *err);
/* Is `before` an ancestor of `after`, or was the branch rewritten? */
int clone_is_forward(const struct clone *clone, const char *before, const char *after, bool *ret,
                     struct err *err);

#define CLONE_HEAD "refs/zester/head"
#define CLONE_USED "refs/zester/used"

#endif
