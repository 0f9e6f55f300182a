/*
 * image - what was at a path at one moment, good enough to put it back.
 *
 * A whole image holds the content of a file: small ones in the image itself,
 * large ones in a copy beside the journal. An image of attributes alone is for
 * changes of mode, owner and times. A folder's image is the folder itself; its
 * contents have their own images.
 *
 * A mark shows whether a path is still what somebody left there: "none",
 * "folder", "link:<target>", "file:<sha256>".
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
    bool whole; /* not attributes alone */
    struct fs_info info;
    struct fs_id self, in; /* which file it was, and which folder it was in */
    uid_t in_owner;        /* of that folder; only with `in` */
    struct str handle;     /* of a file with several names (core/sys/handle.h); a NULL view: none */
    const char *target;    /* of a link */
    struct str content;    /* of a small file; a NULL view: in `copy` */
    const char *copy;      /* the name of a file in the folder of the journal; NULL */
    const char *mark;      /* what it was */
    bool guarded;          /* of attributes alone: set-id bits come back to that content only */
    struct value xattrs;   /* a map of names to bytes; null: none */
};

enum image_extent { IMAGE_ATTRIBUTES, IMAGE_WHOLE };

/* What is at a site; it borrows the path. What is kept is what `site->info` says afterwards. A copy
 * of a large file is written to `folder`/`copy`, synced; it may be NULL for an image of attributes.
 */
int image_take(struct arena *arena, struct site *site, enum image_extent extent, const char *folder,
               const char *copy, struct image *ret_image, struct err *err);

/* How it is stored. What was read makes sense: an absolute path, a content where one is needed. */
extern const struct record_type image_type;

/* The mark of what is at a site or a path now, of an open file, and of a file with this content. */
int image_mark(struct arena *arena, struct site *site, const char **ret_mark, struct err *err);
int image_mark_path(struct arena *arena, const char *path, const char **ret_mark, struct err *err);
int image_mark_fd(struct arena *arena, int fd, const char **ret_mark, struct err *err);
/* The mark of a fifo or device. */
const char *image_mark_kind(enum fs_kind kind);
const char *image_mark_content(struct arena *arena, struct str content);

#endif
