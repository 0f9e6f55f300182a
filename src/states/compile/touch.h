/*
 * touch - the paths and packages of a state, as far as known before it runs.
 *
 * States of Salt files run one after the other. Neighbours may run together if the result cannot
 * differ: if each touches only its own path (MODULE_LOCAL), and the paths are neither equal nor
 * nested; or if each installs different packages, which the package manager then gets in one run.
 * Everything else may touch anything: commands, services, guards, templates (which may call
 * functions), missing sources and folders, and paths that are links.
 *
 *     touch_init -> { touch_joins... touch_clear }... -> touch_done
 *
 * Memory: scratch of the window. Threads: one.
 */
#ifndef STATES_COMPILE_TOUCH_H
#define STATES_COMPILE_TOUCH_H

#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/map.h"

struct plan_state;

/* Neighbours that may run together. */
struct touch_window {
    struct arena arena;
    struct map things;  /* paths and packages that are touched */
    struct map above;   /* folders above such paths */
    struct map folders; /* folder to its real path; outlives touch_clear */
    struct arena folder_arena;
    const char *new_folder;         /* a folder that does not exist yet: all others are below it */
    const struct plan_state *makes; /* the first that creates folders; NULL */
    bool any;                       /* one of them touches anything */
    unsigned count, parallel, packages;
};

void touch_init(struct touch_window *window);
void touch_done(struct touch_window *window);

/* May the state run together with all of the window? If so, it joins. The first state of an
 * empty window always joins. */
bool touch_joins(struct touch_window *window, const struct plan_state *state);

/* The path that is all a state changes, with what is below it; NULL: it may change more, or its
 * arguments are not known yet. */
const char *touch_path(const struct plan_state *state);

/* Start a new window. */
void touch_clear(struct touch_window *window);

#endif
