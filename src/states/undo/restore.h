/*
 * restore - restores the paths of a state from their images.
 *
 *     restore_init -> { restore_find -> restore_put }... the newest image first -> restore_finish
 *
 * Owners and modes of existing folders come last, the deepest folder first: until then their
 * contents are reached as the state left them. A missing folder is recreated with all its contents
 * (states/undo/rebuild.h).
 *
 * A path is walked by the rule of core/sys/site.h, with two exceptions: its recorded parent folder
 * may always be entered, since the state may have reached it otherwise, and so may a folder that
 * has the owner recorded in an image.
 *
 * Memory: the arena; borrows the images. Threads: one.
 */
#ifndef STATES_UNDO_RESTORE_H
#define STATES_UNDO_RESTORE_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/map.h"
#include "core/base/vec.h"
#include "states/undo/rebuild.h"

struct arena;
struct buf;
struct draft_log;
struct err;
struct image;
struct site;

struct restore_images {
    VEC(const struct image *) list; /* the newest first */
};

struct restore {
    struct rebuild rebuild;
    struct draft_log *log;                                    /* NULL: none */
    bool (*knows)(void *self, const char *path, uid_t owner); /* see struct site_way */
    void *self;
    struct rebuild_tree wholes; /* by path, for restore_put */
    struct restore_images late; /* folders whose owner and mode come last */
    struct map done;            /* paths restored with a parent folder */
};

void restore_init(struct restore *restore, struct arena *arena, const char *folder);
/* Announce the images to restore: a recreated folder gets its contents from them. */
void restore_expect(struct restore *restore, const struct restore_images *images);

/* Was it restored with a parent folder? */
bool restore_has(const struct restore *restore, const struct image *image);
/* Find the path of an image. */
int restore_find(const struct restore *restore, const struct image *image, struct site *ret_site,
                 struct err *err);
/* Restore the image at the found site. A copy that does not match its mark fails with ERR_INVALID
 * and leaves the path as it is. Sets `ret_changed` if there was anything to do; `out` describes
 * what was done, or why not. A non-empty folder is left alone. */
int restore_put(struct restore *restore, const struct image *image, struct site *site,
                struct buf *out, bool *ret_changed, struct err *err);
int restore_finish(struct restore *restore, struct buf *out, bool *ret_changed, struct err *err);

#endif
