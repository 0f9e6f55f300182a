/*
 * restore - puts the paths of a state back, as their images say.
 *
 *     restore_init -> { restore_find -> restore_put }... the newest image first -> restore_finish
 *
 * Owners and modes of folders that are there come last, the deepest folder first: until then
 * everything below them is reached as the state left it. A folder that is not there is made anew
 * with everything that was in it (states/undo/rebuild.h).
 *
 * A path is walked by the rule of core/sys/site.h. The folder that it was in is entered again also
 * when the rule would refuse it, since a state may have reached it otherwise; and so is a folder
 * whose owner is the one that an image says.
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
    bool (*knows)(void *self, const char *path, uid_t owner); /* as struct site_way has it */
    void *self;
    struct rebuild_tree wholes; /* by path, for restore_put */
    struct restore_images late; /* folders that get their owner and mode at the end */
    struct map done;            /* paths that came back with a folder above them */
};

void restore_init(struct restore *restore, struct arena *arena, const char *folder);
/* The images that will be put back: a folder that is made anew gets what belongs into it. */
void restore_expect(struct restore *restore, const struct restore_images *images);

/* Did it come back with a folder above it? */
bool restore_has(const struct restore *restore, const struct image *image);
/* Where the path of an image is now. */
int restore_find(const struct restore *restore, const struct image *image, struct site *ret_site,
                 struct err *err);
/* Make what was found as the image says. A copy that is not what its mark says is not used: the
 * path stays as it is, and this fails with ERR_INVALID. `ret_changed` is set if there was anything
 * to do; what was done, or why something was left, is added to `out` in words. A folder that is not
 * empty is left. */
int restore_put(struct restore *restore, const struct image *image, struct site *site,
                struct buf *out, bool *ret_changed, struct err *err);
int restore_finish(struct restore *restore, struct buf *out, bool *ret_changed, struct err *err);

#endif
