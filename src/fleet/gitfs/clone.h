/*
 * clone - the repository behind a folder of the tree: what was fetched from a remote.
 *
 *     <folder>/<name>                        the checkout (fleet/gitfs/checkout.h)
 *     <folder>/.zester-gitfs/<name>.git      the repository: bare, and no older than needed
 *         refs/zester/head                   what the remote had when it was fetched last
 *         refs/zester/used                   what was checked out last
 *         zester-source                      a sum of the URL and the branch that it follows
 *
 * A repository is made beside and gets its name when it is whole. Files come out of it byte for
 * byte as they were committed: attributes that change line ends, or run filters, have no effect.
 *
 * Blocks; for workers. One at a time works in a store: see fleet/gitfs/sync.h. Memory: the arena.
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
    const struct cancel *cancel; /* NULL: nobody cancels */
    const char *folder;          /* the tree of states */
    const struct remote *remote;
    int64_t timeout; /* of a fetch from a remote that was cloned before; nanoseconds */
};

/* Where repositories are, and a file in it that belongs to this remote: "web.git" */
const char *clone_store(struct arena *arena, const char *folder);
const char *clone_path(const struct clone *clone, const char *suffix);
/* To run git in the repository. */
struct git clone_git(const struct clone *clone);

/* The repository has what the remote has. What is damaged is fetched anew. */
int clone_fetch(const struct clone *clone, struct err *err);

/* Is the remote another than the one that was noted, or another branch of it? */
int clone_is_moved(const struct clone *clone, bool *ret, struct err *err);
int clone_note_source(const struct clone *clone, struct err *err);

/* The commit that a name means; NULL: it has none, or there is no repository. */
int clone_find_commit(const struct clone *clone, const char *name, const char **ret_commit,
                      struct err *err);
/* The tree of a commit that is used: `root` of the remote, or all. */
int clone_find_tree(const struct clone *clone, const char *commit, const char **ret_tree,
                    struct err *err);
/* Is everything of `before` in `after`, or was the branch rewritten? */
int clone_is_forward(const struct clone *clone, const char *before, const char *after, bool *ret,
                     struct err *err);

#define CLONE_HEAD "refs/zester/head"
#define CLONE_USED "refs/zester/used"

#endif
