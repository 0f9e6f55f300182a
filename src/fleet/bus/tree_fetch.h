/*
 * tree_fetch - fetches a published set of files once into a staging folder.
 *
 *     <bucket>/_manifest     the files and their hashes
 *     <bucket>/_signature    the account's signature, see fleet/bus/tree_trust.h
 *
 * The manifest is read and verified, a worker chooses the files that are needed, and those are
 * written below the staging folder, each checked against its hash; then a worker moves them into
 * place. A file with the wrong hash (the set is just being published) fails the fetch, and nothing
 * is used. Large files go to the disk chunk by chunk.
 *
 *     tree_fetch_begin -> choose -> finish -> done
 *                      -> tree_fetch_drop
 *
 * Memory: freed after `done`, or by tree_fetch_drop; holds small files in transit, and one chunk of
 * each large one. Threads: the loop's; `choose` and `finish` run in a worker.
 */
#ifndef FLEET_BUS_TREE_FETCH_H
#define FLEET_BUS_TREE_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "fleet/bus/tree_trust.h"
#include "fleet/nats/js.h"

struct arena;
struct background_tasks;
struct err;
struct tree_fetch;

#define TREE_FETCH_FILES_MAX 100000

struct tree_file {
    const char *key, *path, *sha256;
    int64_t size;   /* of an object; 0: the file is a value of the bucket */
    bool is_needed; /* set by `choose` */
};

struct tree_files {
    struct tree_file *p; /* by key */
    size_t n;
    struct str manifest; /* as read */
    uint64_t revision;   /* of a canary (fleet/wire/canary.h); 0: not a canary */
    bool is_here;        /* set by `choose`: all files are in place, and no others */
};

struct tree_fetch_options {
    struct nats_js js;
    const char *bucket, *staging; /* must outlive it */
    /* Key of the manifest, copied; NULL: FILESET_MANIFEST. */
    const char *manifest;
    /* Key prefix of a file, before its sum, copied; NULL: the manifest has the keys. */
    const char *blobs;
    struct background_tasks *background_tasks; /* the same */
    struct tree_trust trust;                   /* its texts must outlive it */
    /* Sets is_needed of each file to fetch. A dropped fetch may still be choosing while the next
     * one begins, so results belong in `files` only. */
    int (*choose)(void *self, struct tree_files *files, struct err *err);
    /* All needed files are below `staging`. Called even if none was needed. */
    int (*finish)(void *self, const struct tree_files *files, struct err *err);
    /* `error` is NULL on success; then `files` is NULL if nothing was ever published. */
    void (*done)(void *self, const char *error, const struct tree_files *files);
    void *self;
};

/* `done` follows from the loop, even for immediate failures. */
struct tree_fetch *tree_fetch_begin(const struct tree_fetch_options *options);
/* `done` is not called. A worker may still choose or finish until the background tasks are closed.
 * NULL is fine. */
void tree_fetch_drop(struct tree_fetch *fetch);

/* Does the file have this hash? */
bool tree_file_has_hash(const char *path, const char *sha256);
/* The files of a manifest, in the arena; it is a map with the list, or the bare list. */
int tree_files_parse(struct arena *arena, struct str manifest, struct tree_files *ret,
                     struct err *err);

#endif
