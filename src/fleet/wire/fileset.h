/*
 * fileset - a tree of files that is published as a whole: its manifest, and what is said about it.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_FILESET_H
#define FLEET_WIRE_FILESET_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "core/data/record.h"

/* Keys of every bucket that holds one. */
#define FILESET_MANIFEST "_manifest"
#define FILESET_REVISION "_revision"
/* The account's signature of the manifest (fleet/wire/signature.h), written between the two. */
#define FILESET_SIGNATURE "_signature"

/* A file is the value of its key. One that is larger than FILESET_INLINE_MAX is an object of the
 * bucket of files instead, named by its sum. A path that cannot be a key has a key that is made
 * from it, and stands beside it. */
#define FILESET_INLINE_MAX ((size_t)256 << 10)

#define FILESET_PATH_MAX 1024

/* May a file of a set have this path: relative, no empty part, no "." and ".."? */
bool fileset_path_is_safe(const char *path);

struct fileset_file {
    const char *key, *sha256; /* lower-case hexadecimal */
    const char *path;         /* "": the key is the path */
    int64_t size;             /* of a file that is an object; 0: it is a value */
};
extern const struct record_type fileset_file_type;

struct fileset_files {
    VEC(struct fileset_file) list; /* by key */
};

/* State and reactor trees; that of settings is the bare list. */
struct fileset_manifest {
    struct fileset_files files;
    uint64_t revision; /* of a canary (fleet/wire/canary.h); 0: it is not one */
};
extern const struct record_type fileset_manifest_type;

/* Publish now. */
struct fileset_update {
    bool force;
    const char *operator; /* who asks, for the audit */
};
extern const struct record_type fileset_update_type;

/* What became of a set. */
struct fileset_outcome {
    const char *name; /* settings, states, reactor */
    int32_t files;
    bool changed;
    const char *err, *skipped; /* the second: FILESET_GITFS, or "" */
    /* for whom it was published, and which commits; "": for all, and it does not come from git */
    const char *note;
};
/* Nothing new was published of a set that comes from git. */
#define FILESET_GITFS "gitfs-managed"
extern const struct record_type fileset_outcome_type;

struct fileset_outcomes {
    VEC(struct fileset_outcome) list;
};

struct fileset_update_reply {
    const char *master;
    struct fileset_outcomes sets;
};
extern const struct record_type fileset_update_reply_type;

struct fileset_status_reply {
    const char *master, *hostname;
    int64_t since_unix;
};
extern const struct record_type fileset_status_reply_type;

/* --- earlier revisions -------------------------------------------------------------- */

/* Keys of the bucket of history: of a tree and a number, or of a tree and the sum of a file. */
#define FILESET_PAST_REVISION "%s.revision.%" PRIu64
#define FILESET_PAST_MANIFEST "%s.manifest.%" PRIu64
#define FILESET_PAST_BLOB     "%s.blob.%s"

/* Since when nothing has a large file, by its sum, or chunks without a file, by their id. */
#define FILESET_UNUSED "objects.unused.%s"

/* Paths that a revision names; it counts the others. */
#define FILESET_CHANGES_MAX 100

struct fileset_change {
    const char *change, *path; /* "added", "changed" or "removed" */
};
extern const struct record_type fileset_change_type;

struct fileset_changes {
    VEC(struct fileset_change) list;
};

/* A tree as it was published once. */
struct fileset_revision {
    const char *tree;
    uint64_t revision;
    int64_t time_unix;
    const char *master;   /* that published it */
    const char *operator; /* who brought an earlier revision back; "": files were edited */
    uint64_t restored;    /* that revision; 0: none */
    const char *note;     /* what else the operator did; "": nothing */
    uint64_t files, added, changed, removed;
    struct fileset_changes changes; /* the first of them, by path */
    const char *manifest;           /* its sum */
};
extern const struct record_type fileset_revision_type;

/* Bring a revision of a tree back. */
struct fileset_rollback {
    const char *tree, *operator;
    uint64_t revision;
};
extern const struct record_type fileset_rollback_type;

struct fileset_rollback_reply {
    const char *master, *tree;
    uint64_t restored, revision; /* what was asked for, and the new one */
    uint64_t files;              /* of the folder that were written or removed */
    const char *err;
};
extern const struct record_type fileset_rollback_reply_type;

#endif
