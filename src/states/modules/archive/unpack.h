/*
 * unpack - archives of every kind that libarchive reads: tar, zip, 7z, cpio, with any
 * compression.
 *
 * The library is loaded when the first archive is opened, so programs start without it. An archive
 * can never write outside its folder: a path that climbs out, or that goes through a link in the
 * archive, is an error.
 *
 * Memory: the arena of the call. Threads: any.
 */
#ifndef STATES_MODULES_ARCHIVE_UNPACK_H
#define STATES_MODULES_ARCHIVE_UNPACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/sys/fs.h"

struct arena;
struct cancel;
struct err;
struct source_content;

/* Limits on an archive. */
#define UNPACK_ENTRIES_MAX ((size_t)2000000)
#define UNPACK_BYTES_MAX   ((uint64_t)256 << 30)

enum unpack_format { UNPACK_ANY, UNPACK_TAR, UNPACK_ZIP, UNPACK_7ZIP, UNPACK_RAR, UNPACK_CPIO };

struct unpack_options {
    const char *name; /* archive name for messages */
    const char *folder;
    enum unpack_format format;
    unsigned strip; /* leading components stripped from each path */
    const char *password;
    uid_t uid; /* FS_KEEP: our own */
    gid_t gid;
    const struct cancel *cancel; /* NULL: it is not canceled */
};

struct unpack_entry {
    const char *path; /* below the folder, after stripping */
    enum fs_kind kind;
};

struct unpack_entries {
    const char *format; /* the detected format: "tar" */
    VEC(struct unpack_entry) list;
};

/* List the entries of the archive. */
int unpack_list(struct arena *arena, const struct source_content *archive,
                const struct unpack_options *options, struct unpack_entries *ret, struct err *err);
/* Extract everything into an existing folder. On failure, what was written stays. */
int unpack(struct arena *arena, const struct source_content *archive,
           const struct unpack_options *options, struct unpack_entries *ret, struct err *err);

#endif
