/*
 * tree_place - changes files of a tree by its open folder: no link below it is followed.
 *
 * A tree may have links, which are not published; a file is never written or removed through one.
 *
 * Memory: none. Threads: any.
 */
#ifndef FLEET_MASTER_FILES_TREE_PLACE_H
#define FLEET_MASTER_FILES_TREE_PLACE_H

#include <sys/types.h>

#include "core/base/str.h"

struct err;

/* Replace or make the file at `path` below `folder`, with the folders on its way. A new file has
 * this mode; one that is there keeps its own. `path` must be safe (fleet/wire/fileset.h). */
int tree_place_text(const char *folder, const char *path, struct str content, mode_t mode,
                    struct err *err);
/* The same from the file `from`. */
int tree_place_copy(const char *folder, const char *path, const char *from, mode_t mode,
                    struct err *err);
/* Remove it, and folders that it leaves empty. Not there is fine. */
int tree_place_remove(const char *folder, const char *path, struct err *err);

#endif
