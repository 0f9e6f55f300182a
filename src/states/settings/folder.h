/*
 * folder - the settings files of one folder, by reference or path.
 *
 *     a.b  ->  a/b.zy, a/b/init.zy, a/b.sls, a/b/init.sls    the first that exists
 *
 * Contents in memory may replace those on disk.
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
    const struct map *files; /* path to struct str; NULL, or a NULL view: read from `root` */
};

struct folder_file {
    const char *path; /* below the folder */
    struct str text;
    bool is_init; /* a/b/init.zy */
};

/* The file of a reference; `path` is NULL when missing. Fails with ERR_INVALID for an invalid
 * reference. */
int folder_find(struct arena *arena, const struct folder *folder, struct str ref,
                struct folder_file *ret_file, struct err *err);

/* A reference with slashes, without a suffix. */
const char *folder_path(struct arena *arena, struct str ref);

/* The reference nearest to a missing one, or NULL. */
const char *folder_suggest(struct arena *arena, const struct folder *folder, struct str ref);

/* A file by its path below the folder; a NULL view when it is missing or outside. */
int folder_read(struct arena *arena, const struct folder *folder, struct str path,
                struct str *ret_text, struct err *err);

/* Is there a settings file directly in the folder? */
bool folder_has_files(struct arena *arena, const struct folder *folder);

#endif
