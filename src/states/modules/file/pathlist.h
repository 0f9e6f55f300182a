/*
 * pathlist - a selection of paths below a folder: globs, or E@ and a regex.
 *
 * A glob is matched against the whole path below the folder and against its last part, so '*.conf'
 * matches at any depth.
 *
 * Memory: the arena. Threads: any number of readers.
 */
#ifndef STATES_MODULES_FILE_PATHLIST_H
#define STATES_MODULES_FILE_PATHLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "core/data/params.h"

struct arena;
struct diags;
struct err;
struct matcher;
struct value;

struct pathlist {
    const char *const *globs;
    const struct matcher **matchers; /* NULL: use the glob */
    size_t count;
};

int pathlist_validate(struct param_strs patterns, const struct value *where, struct diags *diags);
int pathlist_init(struct pathlist *list, struct arena *arena, struct param_strs patterns,
                  struct err *err);

/* Does one of the patterns match this path? */
int pathlist_matches(const struct pathlist *list, const char *path, bool *ret, struct err *err);
/* The same, also for everything below a folder that matches. */
int pathlist_keeps(const struct pathlist *list, const char *path, bool *ret, struct err *err);

#endif
