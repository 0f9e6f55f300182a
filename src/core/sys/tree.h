/*
 * tree - a folder and everything below it.
 *
 * A walk goes by open folders and names, never by paths, and follows no link, so swapping a folder
 * for a link cannot lead it out of the tree. Names come in byte order; a folder is entered before
 * its content and left after it.
 *
 * Threads: any number of walks at once.
 */
#ifndef CORE_SYS_TREE_H
#define CORE_SYS_TREE_H

#include <stddef.h>

#include "core/sys/fs.h"

struct site;

/* Maximum depth; each level holds one open file. */
#define TREE_DEPTH_MAX 256

enum tree_step {
    TREE_ENTER, /* a folder, before its content */
    TREE_ENTRY, /* anything else */
    TREE_LEAVE, /* a folder, after its content */
};

struct tree_entry {
    int folder;       /* for the ...at calls, together with: */
    const char *name; /* within `folder` */
    const char *path; /* the path of the walk and the part below it; valid during the call */
    size_t depth;     /* 0: the root of the walk */
    struct fs_info info;
    const struct fs_info *above; /* info of `folder` */
};

/* Returns -1 to stop the walk. */
typedef int tree_fn(void *self, enum tree_step step, const struct tree_entry *entry,
                    struct err *err);

/* Visit `path` and everything below it. Files that vanish meanwhile are skipped. Fails with
 * ERR_LIMIT below TREE_DEPTH_MAX levels, and when `path` does not exist. */
int tree_walk(const char *path, tree_fn *fn, void *self, struct err *err);
/* The same from a walked site. Its last part may be another file by now. */
int tree_walk_at(const struct site *site, tree_fn *fn, void *self, struct err *err);
/* The current entry of the walk as a site; valid during the call. */
void tree_site(const struct tree_entry *entry, struct site *ret_site);

/* Remove it all; a missing one is fine. Stops at a mount point rather than empty another file
 * system. */
int tree_remove(const char *path, struct err *err);
int tree_remove_at(const struct site *site, struct err *err);
/* The same for a tree that we made ourselves, even after a cancel: its read-only folders are made
 * writable. */
int tree_discard_at(const struct site *site, struct err *err);

#endif
