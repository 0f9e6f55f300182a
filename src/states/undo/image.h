/*
 * image - a snapshot of a path, complete enough to restore it.
 *
 * A whole image holds the content of a file: small files in the image itself, large ones in a copy
 * beside the journal. An attribute image is for changes of mode, owner and times. A folder's image
 * is the folder alone; its contents have their own images.
 *
 * A mark tells whether a path is still in the recorded state: "none", "folder", "link:<target>",
 * "file:<sha256>".
 *
 *     image_take -> (disk, by image_type) -> states/undo/restore.h
 *
 * Memory: the arena of each call. Threads: any.
 */
#ifndef STATES_UNDO_IMAGE_H
#define STATES_UNDO_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/data/value.h"
#include "core/sys/fs.h"

struct arena;
struct err;
struct record_type;
struct site;

/* Larger files are copied, not held. */
#define IMAGE_INLINE_MAX ((size_t)32 << 10)

struct image {
    const char *path;
    bool whole; /* with content, not attributes alone */
    struct fs_info info;
    struct fs_id self, in; /* the file's identity, and its folder's */
    uid_t in_owner;        /* owner of that folder; only with `in` */
    struct str handle;     /* of a file with several names (core/sys/handle.h), or a NULL view */
    const char *target;    /* of a link */
    struct str content;    /* of a small file; a NULL view: see `copy` */
    const char *copy;      /* file name in the journal folder, or NULL */
    const char *mark;      /* the mark of the path */
    bool guarded;          /* attribute images: set-id bits are restored only on this content */
    struct value xattrs;   /* extended attributes: names to bytes; null: none */
};

enum image_extent { IMAGE_ATTRIBUTES, IMAGE_WHOLE };

/* Take the image of a site; borrows the path and updates `site->info`. A large file is copied to
 * `folder`/`copy` and synced; `copy` may be NULL for an attribute image. */
int image_take(struct arena *arena, struct site *site, enum image_extent extent, const char *folder,
               const char *copy, struct image *ret_image, struct err *err);

/* The stored form. Reading checks it: an absolute path, content where needed. */
extern const struct record_type image_type;

/* The mark of a site or path as it is now, of an open file, and of a file with this content. */
int image_mark(struct arena *arena, struct site *site, const char **ret_mark, struct err *err);
int image_mark_path(struct arena *arena, const char *path, const char **ret_mark, struct err *err);
int image_mark_fd(struct arena *arena, int fd, const char **ret_mark, struct err *err);
/* The mark of a fifo or device. */
const char *image_mark_kind(enum fs_kind kind);
const char *image_mark_content(struct arena *arena, struct str content);

#endif
