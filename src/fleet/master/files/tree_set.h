/*
 * tree_set - reads a folder for publication: keys, sums, contents.
 *
 * Hidden files, links and __pycache__ are left out. A file that changes meanwhile is read again in
 * the next round: a sum always matches its bytes. A path that is not a valid key gets a derived
 * one. With the sums of an earlier reading, unchanged files are not read.
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
#define TREE_SET_BYTES_MAX ((size_t)256 << 20) /* total size of files that are values */

struct tree_set_file {
    const char *key;
    const char *path; /* "": the key is the path */
    char sha256[SHA256_HEX_SIZE];
    struct str bytes; /* a NULL view: large, or not read */
    size_t size;      /* size of the published bytes */
    bool is_large;    /* an object, not a value */
    const char *file; /* path on disk */
};

struct tree_set {
    VEC(struct tree_set_file) files; /* by key */
    VEC(const char *) refused;       /* reasons for skipped files */
    size_t read;                     /* files read; the others are unchanged */
    uint64_t canary;                 /* revision of the canary; 0: none */
};

/* Transforms a small file for publication, in the arena. Fails with the reason for skipping it. */
typedef int tree_set_prepare_fn(void *self, struct arena *arena, const char *path,
                                struct str *bytes, struct err *err);

struct tree_set_options {
    const char *folder;
    const char *prefix;           /* key prefix: "" or "reactor/" */
    tree_set_prepare_fn *prepare; /* NULL: unchanged */
    void *self;
    /* Large files that contain one of these texts are skipped; NULL-terminated. NULL: none. */
    const char *const *markers;
    /* From earlier readings with the same options; NULL: read everything. `prepare` must be
     * deterministic. */
    struct tree_sums *sums;
};

/* A missing folder is an empty set. Fails when the folder cannot be read completely. */
int tree_set_read(struct arena *arena, const struct tree_set_options *options,
                  struct tree_set *ret_set, struct err *err);

/* The manifest of the set; `is_bare`: only the list of files. */
int tree_set_manifest(struct arena *arena, const struct tree_set *set, bool is_bare,
                      struct str *ret_manifest, struct err *err);

/* The sum of the manifest. */
int tree_set_sum(struct arena *arena, const struct tree_set *set, bool is_bare,
                 char ret_sum[static SHA256_HEX_SIZE], struct err *err);

/* The key of a path. */
const char *tree_set_key(struct arena *arena, const char *prefix, const char *path,
                         const char **ret_path);

#endif
