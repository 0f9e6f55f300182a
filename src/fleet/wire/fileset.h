/*
 * fileset - a tree of files that is published as a whole: its manifest and its messages.
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

/* Keys in every bucket with a set. */
#define FILESET_MANIFEST "_manifest"
#define FILESET_REVISION "_revision"
/* The account's signature of the manifest (fleet/wire/signature.h), written between the other two.
 * */
#define FILESET_SIGNATURE "_signature"

/* A file is the value of its key. A file larger than FILESET_INLINE_MAX is an object in the bucket
 * of files, named by its sum. A path that is not a valid key is stored beside a key derived from
 * it. */
#define FILESET_INLINE_MAX ((size_t)256 << 10)

#define FILESET_PATH_MAX 1024

/* May a file of a set have this path: relative, no empty part, no "." and ".."? */
bool fileset_path_is_safe(const char *path);

struct fileset_file {
    const char *key, *sha256; /* lower-case hexadecimal */
    const char *path;         /* "": the key is the path */
    int64_t size;             /* of an object; 0: the file is a value */
};
extern const struct record_type fileset_file_type;

struct fileset_files {
    VEC(struct fileset_file) list; /* by key */
};

/* Manifest of state and reactor trees; that of settings is the bare list. */
struct fileset_manifest {
    struct fileset_files files;
    uint64_t revision; /* of a canary (fleet/wire/canary.h); 0: not a canary */
};
extern const struct record_type fileset_manifest_type;

/* Publish now. */
struct fileset_update {
    bool force;
    const char *operator; /* who asks, for the audit */
};
extern const struct record_type fileset_update_type;

/* Result of publishing one set. */
struct fileset_outcome {
    const char *name; /* settings, states, reactor */
    int32_t files;
    bool changed;
    const char *err, *skipped; /* `skipped`: FILESET_GITFS, or "" */
    /* its audience and commits; "": for all, not from git */
    const char *note;
};
/* Not published: the set comes from git. */
#define FILESET_GITFS "gitfs-managed"
extern const struct record_type fileset_outcome_type;

struct fileset_outcomes {
    VEC(struct fileset_outcome) list;
};

/* A mistake in a folder, found before it is published. */
struct fileset_mistake {
    const char *tree, *text; /* "web.zy:3:5: ..." */
    const char *hint;        /* "": none */
    const char *peel;        /* the first machine that it concerns; "": all */
    int64_t peels;           /* how many */
};
extern const struct record_type fileset_mistake_type;

struct fileset_mistakes {
    VEC(struct fileset_mistake) list;
};

/* The mistakes that a check of the folders found. */
struct fileset_check {
    int64_t machines, checked; /* known, and checked in time */
    int64_t unknown;           /* where a part can be answered by the machine only */
    int64_t total;             /* mistakes; the list has the first ones */
    struct fileset_mistakes mistakes;
};
extern const struct record_type fileset_check_type;

struct fileset_update_reply {
    const char *master;
    struct fileset_outcomes sets;
    struct value trees; /* what is published now: a map (fleet/wire/liveness.h); null: not known */
    struct value check; /* a map, fileset_check; null: nothing was checked */
};
extern const struct record_type fileset_update_reply_type;

struct fileset_status_reply {
    const char *master, *hostname;
    int64_t since_unix;
};
extern const struct record_type fileset_status_reply_type;

/* --- earlier revisions -------------------------------------------------------------- */

/* Keys in the bucket of history: by tree and number, or by tree and file sum. */
#define FILESET_PAST_REVISION "%s.revision.%" PRIu64
#define FILESET_PAST_MANIFEST "%s.manifest.%" PRIu64
#define FILESET_PAST_BLOB     "%s.blob.%s"

/* Time since when a large file (by sum) or stray chunks (by id) are unused. */
#define FILESET_UNUSED "objects.unused.%s"

/* Paths listed in a revision; the others are only counted. */
#define FILESET_CHANGES_MAX 100

struct fileset_change {
    const char *change, *path; /* "added", "changed" or "removed" */
};
extern const struct record_type fileset_change_type;

struct fileset_changes {
    VEC(struct fileset_change) list;
};

/* A published revision of a tree. */
struct fileset_revision {
    const char *tree;
    uint64_t revision;
    int64_t time_unix;
    const char *master;   /* the publisher */
    const char *operator; /* who rolled back to an earlier revision; "": files were edited */
    uint64_t restored;    /* the revision rolled back to; 0: none */
    const char *note;     /* the operator's other changes; "": none */
    uint64_t files, added, changed, removed;
    struct fileset_changes changes; /* the first changes, by path */
    const char *manifest;           /* its sum */
};
extern const struct record_type fileset_revision_type;

/* Roll a tree back to a revision. */
struct fileset_rollback {
    const char *tree, *operator;
    uint64_t revision;
};
extern const struct record_type fileset_rollback_type;

struct fileset_rollback_reply {
    const char *master, *tree;
    uint64_t restored, revision; /* the requested revision, and the new one */
    uint64_t files;              /* in the folder, written or removed */
    const char *err;
    struct value trees; /* what is published now, as above */
};
extern const struct record_type fileset_rollback_reply_type;

#endif
