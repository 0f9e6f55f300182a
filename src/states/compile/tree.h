/*
 * tree - the tree of state files.
 *
 * A tree is a folder; paths are relative to it and use '/'. A reference is a dotted
 * path to a state file:
 *
 *     a.b  ->  a/b.zy, a/b/init.zy, a/b.sls, a/b/init.sls    the first that exists
 *
 * A source may be written as "x/y", "salt://x/y" or "zester://x/y"; all are x/y ("?saltenv=..." is
 * dropped). Nothing outside the root is ever read: '..' is refused, and a symbolic link is followed
 * only if it ends inside.
 *
 * A file that was read stays cached for the life of the tree, so one run sees one version of every
 * file; make a new tree to see changes.
 *
 *     tree_new -> { tree_find, tree_read, tree_list }... -> tree_free
 *
 * Memory: heap; texts are valid until the tree or the arena of the call ends, whichever is first.
 * Threads: any.
 */
#ifndef STATES_COMPILE_TREE_H
#define STATES_COMPILE_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct err;
struct stamps;
struct tree;

/* A larger file is an error; one larger than the second limit is not cached. */
#define TREE_FILE_MAX   ((size_t)64 << 20)
#define TREE_CACHED_MAX ((size_t)1 << 20)
#define TREE_CACHE_SIZE ((size_t)64 << 20) /* of all cached files */
/* Files below one folder, and depth of folders. */
#define TREE_LIST_MAX  100000
#define TREE_DEPTH_MAX 64

/* The tree below `root`, which must be a folder. */
struct tree *tree_new(const char *root, struct err *err);
/* From here on record the files that this thread reads (states/compile/stamps.h). */
void tree_note(struct tree *tree, struct stamps *stamps);
/* A tree in memory; tree_add adds files. For tests. */
struct tree *tree_new_in_memory(void);
void tree_add(struct tree *tree, const char *path, struct str text);
void tree_free(struct tree *tree);

/* The folder; NULL for a tree in memory. */
const char *tree_root(const struct tree *tree);
/* Bytes of the files that are cached. */
size_t tree_cached(const struct tree *tree);

/* Is this text a source of a tree: relative, or with one of our schemes? */
bool tree_is_source(const char *source);

/* The path of the state file of a reference; NULL when there is none. */
int tree_find(const struct tree *tree, struct arena *arena, struct str ref, const char **ret_path,
              struct err *err);

/* The shortest reference of a state file: "a" for a/init.zy; NULL: it is not one. */
const char *tree_ref(struct arena *arena, const char *path);

/* The content of a file, by path or source; a NULL view when it does not exist. */
int tree_read(const struct tree *tree, struct arena *arena, const char *source, struct str *ret,
              struct err *err);
/* The same, and fails with ERR_LIMIT above `max` bytes. */
int tree_read_small(const struct tree *tree, struct arena *arena, const char *source, size_t max,
                    struct str *ret, struct err *err);

/* The absolute path of a file or folder of the tree; NULL when it does not exist or the tree is
 * in memory. */
int tree_locate(const struct tree *tree, struct arena *arena, const char *source, const char **ret,
                struct err *err);

/* The files below a folder as paths relative to it, in byte order; hidden ones too. A missing
 * folder is ERR_NOT_FOUND. */
struct tree_names {
    VEC(const char *) list;
};
int tree_list(const struct tree *tree, struct arena *arena, const char *source,
              struct tree_names *ret_names, struct err *err);

/* The references of all state files that match a pattern, in byte order: "web.*". Without the
 * top file. */
int tree_match(const struct tree *tree, struct arena *arena, struct str pattern,
               struct tree_names *ret_refs, struct err *err);

/* The reference nearest to an unknown one, for "did you mean"; NULL when none is close. */
const char *tree_suggest(const struct tree *tree, struct arena *arena, struct str ref);

#endif
