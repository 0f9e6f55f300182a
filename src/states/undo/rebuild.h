/*
 * rebuild - recreates an image beside its path, and moves it there in one step.
 *
 * A file, link, fifo or device is created as a draft, gets its content and attributes, and is
 * renamed. A folder is created the same way with all its contents: only our own user can enter the
 * draft until it is complete, so no other user can interfere, and a tree with several owners needs
 * no walk through their folders. A killed process leaves a logged draft, never a part of the tree.
 *
 * A file with several names is linked again if it is unchanged, or linked to the copy that was
 * recreated under another name.
 *
 * Memory: the arena. Threads: one.
 */
#ifndef STATES_UNDO_REBUILD_H
#define STATES_UNDO_REBUILD_H

#include "core/base/map.h"
#include "core/base/vec.h"

struct arena;
struct buf;
struct err;
struct image;
struct site;

struct rebuild {
    struct arena *arena;
    const char *folder; /* the journal folder, with the copies */
    struct map files;   /* recreated files by their old identity */
};

/* Images of a folder and its contents, each folder first. */
struct rebuild_tree {
    VEC(const struct image *) list;
};

/* A copy that does not match its mark fails with ERR_INVALID; nothing is touched. */
int rebuild_check_copy(struct rebuild *rebuild, const struct image *image, struct err *err);

/* Recreate anything but a folder, and replace what is there. The copy has been checked. */
int rebuild_node(struct rebuild *rebuild, const struct image *image, struct site *site,
                 struct err *err);
/* Recreate a folder at an empty site. Files with damaged copies are left out; the call then fails
 * although the tree exists. Describes the result in `out`. */
int rebuild_folder(struct rebuild *rebuild, const struct rebuild_tree *tree, struct site *site,
                   struct buf *out, struct err *err);

#endif
