/*
 * tree - a folder and all that is below it.
 *
 * A walk goes by open folders and names, never by paths, and follows no link, so
 * swapping a folder for a link cannot lead it out of the tree. Names come
 * in byte order; a folder is entered before and left after what it holds.
 *
 * Threads: any number of walks at once.
 */
#ifndef CORE_SYS_TREE_H
#define CORE_SYS_TREE_H

#include <stddef.h>

#include "core/sys/fs.h"

struct site;

/* A folder in a folder in a folder; each level holds one open file. */
#define TREE_DEPTH_MAX 256

enum tree_step {
    TREE_ENTER, /* a folder, before what it holds */
    TREE_ENTRY, /* anything else */
    TREE_LEAVE, /* a folder, after what it holds */
};

struct tree_entry {
    int folder;       /* for the ...at calls, together with: */
    const char *name; /* within `folder` */
    const char *path; /* the path of the walk and what is below it; valid during the call */
    size_t depth;     /* 0: where the walk began */
    struct fs_info info;
    const struct fs_info *above; /* of `folder` */
};

/* Returns -1 to stop the walk. */
typedef int tree_fn(void *self, enum tree_step step, const struct tree_entry *entry,
                    struct err *err);

/* Visit `path` and all below it. What vanishes meanwhile is skipped. Fails with ERR_LIMIT below
 * TREE_DEPTH_MAX levels, and when `path` is not there. */
int tree_walk(const char *path, tree_fn *fn, void *self, struct err *err);
/* The same from a site that was walked. Its last part may be another by now. */
int tree_walk_at(const struct site *site, tree_fn *fn, void *self, struct err *err);
/* What the walk is at, as a site; valid during the call. */
void tree_site(const struct tree_entry *entry, struct site *ret_site);

/* Remove it all; not there is fine. Stops at a mount point rather than empty another file system.
 */
int tree_remove(const char *path, struct err *err);
int tree_remove_at(const struct site *site, struct err *err);
/* The same for a tree that we made ourselves, also after a cancel: folders of it that we may not
 * write to are made writable. */
int tree_discard_at(const struct site *site, struct err *err);

#endif
