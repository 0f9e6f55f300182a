/*
 * forecast - what restoring images would do, without touching anything.
 *
 *     forecast_init -> { forecast_put }... in the order of restore_put (states/undo/restore.h)
 *
 * It remembers what it was given, so that an older image of a path is compared with the newer one
 * that would be in its place by then.
 *
 * Memory: the arena; borrows the images. Threads: one.
 */
#ifndef STATES_UNDO_FORECAST_H
#define STATES_UNDO_FORECAST_H

#include <stdbool.h>

#include "core/base/map.h"

struct arena;
struct buf;
struct err;
struct image;
struct site;

struct forecast {
    struct arena *arena;
    struct map wholes, attributes; /* by path: the image that would be restored by now */
};

void forecast_init(struct forecast *forecast, struct arena *arena);
/* Describe in `out` what restore_put would do. `site` is the path as it is now. */
int forecast_put(struct forecast *forecast, const struct image *image, struct site *site,
                 struct buf *out, bool *ret_changed, struct err *err);
/* The whole image that would be restored at the path by now; NULL: the path is as it is. */
const struct image *forecast_find(const struct forecast *forecast, const char *path);

#endif
