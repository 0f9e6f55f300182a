/*
 * pathlist - which paths below a folder are meant: globs, or E@ and a pattern.
 *
 * A glob is compared with the whole path below the folder and with its last part,
 * so that '*.conf' means files of every depth.
 *
 * Memory: the arena. Threads: any number of readers.
 */
#ifndef MODULES_FILE_PATHLIST_H
#define MODULES_FILE_PATHLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "data/params.h"

struct arena;
struct diags;
struct err;
struct matcher;
struct value;

struct pathlist {
    const char *const *globs;
    const struct matcher **matchers; /* NULL where the glob counts */
    size_t count;
};

int pathlist_validate(struct param_strs patterns, const struct value *where, struct diags *diags);
int pathlist_init(struct pathlist *list, struct arena *arena, struct param_strs patterns,
                  struct err *err);

/* Does one of the patterns mean this path? */
int pathlist_matches(const struct pathlist *list, const char *path, bool *ret, struct err *err);
/* The same, and for everything below a folder that one of them means. */
int pathlist_keeps(const struct pathlist *list, const char *path, bool *ret, struct err *err);

#endif
