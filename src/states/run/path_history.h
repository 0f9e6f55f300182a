/*
 * path history - what the states of one run did to each path, and how much of it has been reverted.
 *
 * States of a level run at the same time, and several of them may change one path: a folder that
 * one copies and another writes to. A revert undoes one state after the other, so it meets what a
 * neighbour left, and must not bring back what it found when that neighbour has gone back further
 * already.
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
    struct map paths; /* to those who changed one */
    bool *restored;   /* by number of the state */
};

void path_history_init(struct path_history *path_history, struct arena *arena,
                       const struct undo_run *run);
/* The state was reverted. */
void path_history_restored(struct path_history *path_history, uint32_t number);

/* Did a state of the run find or leave this mark at the path, or leave there what nobody knows? */
bool path_history_knows(const struct path_history *path_history, const char *path,
                        const char *mark);
/* Was the path put back already to what it was before this image? */
bool path_history_is_past(const struct path_history *path_history, const struct undo_image *image);
/* Older attributes of the path that were put back already, and have to be put back again once the
 * content is; NULL: none. */
const struct undo_image *path_history_attributes(const struct path_history *path_history,
                                                 const struct undo_image *image);

#endif
