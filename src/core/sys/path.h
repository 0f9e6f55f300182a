/*
 * path - paths as text; nothing here touches the disk.
 *
 * Results are in the arena. Symbolic links are not resolved, so a normalised
 * path may lead elsewhere on disk.
 */
#ifndef CORE_SYS_PATH_H
#define CORE_SYS_PATH_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;

bool path_is_absolute(const char *path);

/* `folder`/`name`; `name` alone when that is absolute or `folder` is empty. */
char *path_join(struct arena *arena, const char *folder, const char *name);

/* All but the last part: "/a/b" -> "/a", "/a" -> "/", "a" -> ".", "/" -> "/". */
char *path_dirname(struct arena *arena, const char *path);

/* The last part, as a view: "/a/b/" -> "b", "/" -> "/", "" -> "". */
struct str path_basename(const char *path);

/* Without "//", "." and inner ".."; "/.." is "/", nothing is ".". */
char *path_normalise(struct arena *arena, const char *path);

/* Normalised, and from the current folder when it is relative. */
char *path_absolute(struct arena *arena, const char *path);
/* The same without resolving "..", which may follow a link: a path that leads where `path` does. */
const char *path_from_here(struct arena *arena, const char *path);

/* `path` is `folder` or something below it; both are normalised first. */
bool path_is_below(const char *path, const char *folder);
/* `path` is something below `folder`, not the folder itself; both are normalised already. */
bool path_is_inside(const char *path, const char *folder);

/* An absolute path, or one that climbs out with "..": must never be joined to a folder. */
bool path_escapes(const char *path);

#endif
