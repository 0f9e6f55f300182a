/*
 * managed - the paths that the states of a run are about.
 *
 * Who removes what is in a folder and should not be (`clean`) asks here first, so
 * that one state never takes away what another one of the same run puts there.
 *
 *     managed_init -> managed_add for each state -> managed_has, managed_covers
 *
 * A state's path is `target` when that is a path, else its primary parameter. Some states own all
 * that is below their path as well (MODULE_TREE); some are about a path that must not exist
 * (MODULE_REMOVES), which does not count as managed.
 *
 * Memory: the arena. Threads: any, once all states are in it.
 */
#ifndef STATES_STATE_MANAGED_H
#define STATES_STATE_MANAGED_H

#include <stdbool.h>

#include "core/base/map.h"

struct arena;
struct module;

struct managed {
    struct arena *arena;
    struct map paths; /* normalised path to struct managed_path */
};

void managed_init(struct managed *managed, struct arena *arena);
/* `name` is that of the state, `args` its decoded arguments. */
void managed_add(struct managed *managed, const char *name, const struct module *module,
                 const void *args);

/* Is this very path one of a state, or on the way to one? It is normalised. A NULL set has none. */
bool managed_has(const struct managed *managed, const char *path);
/* Does a state other than `name` own this path as a part of its tree? */
bool managed_covers(const struct managed *managed, const char *path, const char *name);

#endif
