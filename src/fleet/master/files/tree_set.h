/*
 * tree_set - the files of a folder as they are published: keys, sums, contents.
 *
 * Hidden files and __pycache__ are left out, links are followed only inside the folder (they are
 * left out here), and what changes meanwhile is read again in the next round: a sum is always that
 * of the bytes beside it. A path that cannot be a key of a bucket gets one that is made from it.
 * With sums of an earlier reading, what has not changed since is not read.
 *
 *     tree_set_read -> tree_set_manifest
 *
 * Memory: the arena. Threads: any; it reads files.
 */
#ifndef FLEET_MASTER_FILES_TREE_SET_H
#define FLEET_MASTER_FILES_TREE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/sha256.h"
#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct err;
struct tree_sums;

#define TREE_SET_FILES_MAX 50000
#define TREE_SET_BYTES_MAX ((size_t)256 << 20) /* of files that are values */

struct tree_set_file {
    const char *key;
    const char *path; /* "": the key is the path */
    char sha256[SHA256_HEX_SIZE];
    struct str bytes; /* a NULL view: it is large, or was not read */
    size_t size;      /* of what is published */
    bool is_large;    /* it is an object, not a value */
    const char *file; /* where it is */
};

struct tree_set {
    VEC(struct tree_set_file) files; /* by key */
    VEC(const char *) refused;       /* why a file is left out */
    size_t read;                     /* files that were read; the others have not changed */
    uint64_t canary;                 /* the revision of a canary; 0: it is not one */
};

/* What is published for a file that is not large, in the arena. Fails with the reason why it is
 * left out. */
typedef int tree_set_prepare_fn(void *self, struct arena *arena, const char *path,
                                struct str *bytes, struct err *err);

struct tree_set_options {
    const char *folder;
    const char *prefix;           /* of keys: "" or "reactor/" */
    tree_set_prepare_fn *prepare; /* NULL: files are published as they are */
    void *self;
    /* A large file with one of these texts in it is left out; NULL ends them. NULL: none is. */
    const char *const *markers;
    /* Of earlier readings with the same options; NULL: read everything. What `prepare` makes of the
     * same bytes must be the same then. */
    struct tree_sums *sums;
};

/* A folder that is not there is an empty set. Fails when it cannot be read as a whole. */
int tree_set_read(struct arena *arena, const struct tree_set_options *options,
                  struct tree_set *ret_set, struct err *err);

/* What is published about the set; `is_bare`: the list of files alone. */
int tree_set_manifest(struct arena *arena, const struct tree_set *set, bool is_bare,
                      struct str *ret_manifest, struct err *err);

/* The key of a path. */
const char *tree_set_key(struct arena *arena, const char *prefix, const char *path,
                         const char **ret_path);

#endif
