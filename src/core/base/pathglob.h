/*
 * pathglob - patterns over paths, as `restart.watch` writes them.
 *
 * The patterns of core/base/glob.h with GLOB_PATH and GLOB_CARET, and also
 *
 *     {a,b}   either, with patterns inside; may be nested
 *     !...    at the beginning: matches are excluded
 *
 * Relative patterns start at a folder, whose own name is never a pattern; '.' and '..' work as in
 * paths. A path matches a set when a pattern does and none excludes it. Time is at most the product
 * of both lengths, whatever the pattern.
 *
 * Pure. Memory: the arena of the set. Threads: any number of readers.
 */
#ifndef CORE_BASE_PATHGLOB_H
#define CORE_BASE_PATHGLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct err;
struct pathglob;

#define PATHGLOB_LENGTH_MAX  4096
#define PATHGLOB_CHOICES_MAX 256 /* that braces expand to */

struct pathglob_set {
    struct arena *arena;
    VEC(struct pathglob *) globs;
    VEC(const char *) roots; /* folders that hold every possible match */
};

/* Fails with ERR_LIMIT, and with ERR_INVALID for an empty pattern or a brace that nothing closes.
 */
int pathglob_add(struct pathglob_set *set, const char *folder, struct str pattern, struct err *err);
/* `path` is absolute. */
bool pathglob_match(const struct pathglob_set *set, struct str path);

#endif
