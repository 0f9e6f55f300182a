/*
 * folder - the files of settings: references and paths below one folder.
 *
 *     a.b  ->  a/b.zy, a/b/init.zy, a/b.sls, a/b/init.sls    the first that exists
 *
 * Contents that are in memory can stand for those on disk.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_SETTINGS_FOLDER_H
#define STATES_SETTINGS_FOLDER_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;
struct err;
struct map;

struct folder {
    const char *root;
    const struct map
        *files; /* struct str by path; a NULL view is read from `root`; NULL: all are */
};

struct folder_file {
    const char *path; /* below the folder */
    struct str text;
    bool is_init; /* a/b/init.zy */
};

/* The file of a reference; `path` is NULL when there is none. Fails with ERR_INVALID for a text
 * that is not a reference. */
int folder_find(struct arena *arena, const struct folder *folder, struct str ref,
                struct folder_file *ret_file, struct err *err);

/* A reference with slashes, without an ending. */
const char *folder_path(struct arena *arena, struct str ref);

/* The nearest reference to a missing one, or NULL. */
const char *folder_suggest(struct arena *arena, const struct folder *folder, struct str ref);

/* A file by its path below the folder; a NULL view when it is missing or outside of the folder. */
int folder_read(struct arena *arena, const struct folder *folder, struct str path,
                struct str *ret_text, struct err *err);

/* True when there is a file of settings right in the folder. */
bool folder_has_files(struct arena *arena, const struct folder *folder);

#endif
