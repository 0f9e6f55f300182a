/*
 * tree - the files that states are made of.
 *
 * A tree is a folder; paths are relative to it and use '/'. A reference is a dotted
 * path to a state file:
 *
 *     a.b  ->  a/b.zy, a/b/init.zy, a/b.sls, a/b/init.sls    the first that is there
 *
 * A source may be written as "x/y", "salt://x/y" or "zester://x/y"; all are x/y
 * ("?saltenv=..." behind it is dropped). Nothing outside of the root is ever read:
 * '..' is refused, and a symbolic link is followed only when it ends inside.
 *
 * What was read stays as it was for the life of the tree, so that one run sees one
 * version of every file; who wants news makes a new tree.
 *
 *     tree_new -> { tree_find, tree_read, tree_list }... -> tree_free
 *
 * Memory: heap; texts belong to the tree or to the arena of the call, whichever ends
 * first ends them. Threads: any.
 */
#ifndef COMPILE_TREE_H
#define COMPILE_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "base/vec.h"

struct arena;
struct err;
struct tree;

/* A larger file is an error; a larger one than the second is read again each time. */
#define TREE_FILE_MAX   ((size_t)64 << 20)
#define TREE_CACHED_MAX ((size_t)1 << 20)
/* Files below one folder, and folders inside one another. */
#define TREE_LIST_MAX  100000
#define TREE_DEPTH_MAX 64

/* The tree below `root`, which must be a folder. */
struct tree *tree_new(const char *root, struct err *err);
/* A tree that lives in memory only; tree_add puts files into it. For tests. */
struct tree *tree_new_in_memory(void);
void tree_add(struct tree *tree, const char *path, struct str text);
void tree_free(struct tree *tree);

/* The folder; NULL when the tree lives in memory. */
const char *tree_root(const struct tree *tree);

/* Is this text a source of a tree: relative, or with one of our schemes? */
bool tree_is_source(const char *source);

/* The path of the state file of a reference; NULL when there is none. */
int tree_find(const struct tree *tree, struct arena *arena, struct str ref, const char **ret_path,
              struct err *err);

/* The content of a file, by path or source; a NULL view when it is not there. */
int tree_read(const struct tree *tree, struct arena *arena, const char *source, struct str *ret,
              struct err *err);

/* The absolute path of a file or folder of the tree; NULL when it is not there or the tree is in
 * memory. */
int tree_locate(const struct tree *tree, struct arena *arena, const char *source, const char **ret,
                struct err *err);

/* The files below a folder as paths relative to it, in byte order; hidden ones too. A folder that
 * is not there is ERR_NOT_FOUND. */
struct tree_names {
    VEC(const char *) list;
};
int tree_list(const struct tree *tree, struct arena *arena, const char *source,
              struct tree_names *ret_names, struct err *err);

/* The references of all state files that match a pattern, in byte order: "web.*". The top file is
 * none. */
int tree_match(const struct tree *tree, struct arena *arena, struct str pattern,
               struct tree_names *ret_refs, struct err *err);

/* The nearest reference to one that is not there, for "did you mean"; NULL when none is near. */
const char *tree_suggest(const struct tree *tree, struct arena *arena, struct str ref);

#endif
