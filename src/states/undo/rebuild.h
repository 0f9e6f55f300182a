/*
 * rebuild - makes anew what an image shows, beside its place, and moves it there in one step.
 *
 * A file, link, fifo or device is made under the name of a draft, gets its content and attributes,
 * and is renamed. A folder is made like this with everything that was in it: the draft is open to
 * us alone until all of it is there, so that nobody can reach into it, and a tree with folders
 * of several owners needs no walk through them. A process that is killed leaves a draft, which the
 * log of the site knows, and never a part of the tree.
 *
 * A name of a file that has others is given back to that file if it is still what it was, or to the
 * one that was made anew for another of its names.
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
    const char *folder; /* of the journal, where copies are */
    struct map files;   /* that were made anew: by what they were */
};

/* Images of a folder and of what was below it, each folder before its contents. */
struct rebuild_tree {
    VEC(const struct image *) list;
};

/* A copy that is not what its mark says is not used: ERR_INVALID, and nothing is touched. */
int rebuild_check_copy(struct rebuild *rebuild, const struct image *image, struct err *err);

/* Anything but a folder; what is there is replaced. The copy of a file was checked. */
int rebuild_node(struct rebuild *rebuild, const struct image *image, struct site *site,
                 struct err *err);
/* A folder, at a site where there is nothing. Files whose copies are damaged are left out, and then
 * this fails although the tree is there. What was made is added to `out` in words. */
int rebuild_folder(struct rebuild *rebuild, const struct rebuild_tree *tree, struct site *site,
                   struct buf *out, struct err *err);

#endif
