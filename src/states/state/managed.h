/*
 * managed - the paths that the states of a run manage.
 *
 * `clean` checks this set before it removes an entry of a folder, so no state removes what another
 * state of the run puts there.
 *
 *     managed_init -> managed_add for each state -> managed_has, managed_covers
 *
 * A state's path is `target` when that is a path, else its primary parameter. Some states own all
 * that is below their path as well (MODULE_TREE); some remove their path (MODULE_REMOVES), which
 * then is not managed.
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
/* `name` is the state's name, `args` its decoded arguments. */
void managed_add(struct managed *managed, const char *name, const struct module *module,
                 const void *args);

/* Is this normalised path managed, or a parent of a managed path? A NULL set is empty. */
bool managed_has(const struct managed *managed, const char *path);
/* Does another state than `name` own this path as part of its tree? */
bool managed_covers(const struct managed *managed, const char *path, const char *name);

#endif
