/*
 * tree_place - writes and removes files in a tree without following links.
 *
 * A tree may contain links, which are not published; no file is written or removed through one.
 *
 * Memory: none. Threads: any.
 */
#ifndef FLEET_MASTER_FILES_TREE_PLACE_H
#define FLEET_MASTER_FILES_TREE_PLACE_H

#include <sys/types.h>

#include "core/base/str.h"

struct err;

/* Write the file at `path` in `folder`, creating parent folders. A new file gets this mode; an
 * existing one keeps its own. `path` must be safe (fleet/wire/fileset.h). */
int tree_place_text(const char *folder, const char *path, struct str content, mode_t mode,
                    struct err *err);
/* The same from the file `from`. */
int tree_place_copy(const char *folder, const char *path, const char *from, mode_t mode,
                    struct err *err);
/* Remove it, and empty parent folders. A missing file is fine. */
int tree_place_remove(const char *folder, const char *path, struct err *err);

#endif
