/*
 * path history - the changes of one run to each path, and how far they are reverted.
 *
 * States of a level run concurrently, and several may change one path: one copies a folder,
 * another writes into it. A revert undoes one state at a time, so it meets changes of other
 * states, and must not restore an image when an older one has been restored already.
 *
 *     path_history_init -> { path_history_knows, path_history_is_past, path_history_attributes,
 * path_history_restored }...
 *
 * Memory: the arena; borrows the run. Threads: one.
 */
#ifndef STATES_RUN_PATH_HISTORY_H
#define STATES_RUN_PATH_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/map.h"

struct arena;
struct undo_image;
struct undo_run;

struct path_history {
    struct arena *arena;
    struct map paths; /* path to its changes */
    bool *restored;   /* by state number */
};

void path_history_init(struct path_history *path_history, struct arena *arena,
                       const struct undo_run *run);
/* The state was reverted. */
void path_history_restored(struct path_history *path_history, uint32_t number);

/* Did a state of the run find or leave this mark at the path, or leave an unknown mark? */
bool path_history_knows(const struct path_history *path_history, const char *path,
                        const char *mark);
/* Was an older image of the path restored already? */
bool path_history_is_past(const struct path_history *path_history, const struct undo_image *image);
/* Older attributes of the path that were restored already, and must be restored again after the
 * content; or NULL. */
const struct undo_image *path_history_attributes(const struct path_history *path_history,
                                                 const struct undo_image *image);

#endif
