/*
 * tree_fetch - a set of files that masters publish, fetched once into a folder beside.
 *
 *     <bucket>/_manifest     which files there are, and their hashes
 *     <bucket>/_signature    that masters wrote it, see fleet/bus/tree_trust.h
 *
 * The manifest is read and verified, a worker chooses which of its files are needed, and those are
 * written below the staging folder, each checked against its hash; then a worker puts them where
 * they belong. A file whose hash is not that of the manifest (the set is being published) ends it
 * as failed; nothing of it is used then. Large files go to the disk chunk by chunk.
 *
 *     tree_fetch_begin -> choose -> finish -> done
 *                      -> tree_fetch_drop
 *
 * Memory: freed after `done`, or by tree_fetch_drop; small files on their way, and one chunk of
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
    int64_t size;   /* of a file that is an object; 0: it is a value of the bucket */
    bool is_needed; /* set by `choose` */
};

struct tree_files {
    struct tree_file *p; /* by key */
    size_t n;
    struct str manifest; /* as it was read */
    uint64_t revision;   /* of a canary (fleet/wire/canary.h); 0: it is not one */
    bool is_here;        /* set by `choose`: all of them are where they belong, and nothing else */
};

struct tree_fetch_options {
    struct nats_js js;
    const char *bucket, *staging; /* must outlive it */
    /* Where the manifest is, copied; NULL: FILESET_MANIFEST. */
    const char *manifest;
    /* What the key of a file is, followed by its sum, copied; NULL: the key of the manifest. */
    const char *blobs;
    struct background_tasks *background_tasks; /* the same */
    struct tree_trust trust;                   /* its texts must outlive it */
    /* Set is_needed of each file that must be fetched. A fetch that was dropped may still choose
     * while the next one begins: what is chosen belongs into `files`. */
    int (*choose)(void *self, struct tree_files *files, struct err *err);
    /* All of those are below `staging`. Called also when none was needed. */
    int (*finish)(void *self, const struct tree_files *files, struct err *err);
    /* `error` is NULL when all went well; `files` then too, when nothing was ever published. */
    void (*done)(void *self, const char *error, const struct tree_files *files);
    void *self;
};

/* `done` follows from the loop, also for what fails at once. */
struct tree_fetch *tree_fetch_begin(const struct tree_fetch_options *options);
/* `done` does not follow; a worker that chooses or finishes may still do so until the chores are
 * closed. NULL is fine. */
void tree_fetch_drop(struct tree_fetch *fetch);

/* Does the file have this hash? */
bool tree_file_has_hash(const char *path, const char *sha256);
/* The files of a manifest, in the arena: a map with the list, or the list alone. */
int tree_files_parse(struct arena *arena, struct str manifest, struct tree_files *ret,
                     struct err *err);

#endif
