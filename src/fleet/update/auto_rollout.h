/*
 * auto_rollout - which promoted version to roll out to which nodes automatically. Decisions only.
 *
 * A node is due when the newest promoted version for its system is newer than its own: there are no
 * automatic downgrades. Degraded nodes, nodes that refuse updates and nodes with an update under
 * way are skipped.
 *
 * Rollouts of a version are numbered, `rol-auto-<component>-<version>-r<N>`. The number follows
 * from the records, so concurrent masters choose the same id, and one of them creates it. A node
 * gets a version once: a node that failed, or that an operator rolled back, is skipped, and an
 * aborted rollout blocks the version. Promoting the version again begins a new round, which ignores
 * both.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_UPDATE_AUTO_ROLLOUT_H
#define FLEET_UPDATE_AUTO_ROLLOUT_H

#include <stdbool.h>

#include "core/base/vec.h"
#include "core/data/params.h"
#include "fleet/wire/update.h"

struct arena;

#define AUTO_ROLLOUT_PREFIX "rol-auto-"

/* Known state of the fleet. */
struct auto_rollout_world {
    struct {
        VEC(struct update_manifest) list;
    } manifests;
    struct {
        VEC(struct update_node) list;
    } nodes;
    struct {
        VEC(struct update_rollout) list;
    } rollouts;
};

struct auto_rollout {
    const char *id, *version;
    struct param_strs nodes; /* sorted; at most ROLLOUT_NODES_MAX, the rest later */
    int32_t promotion;
};

/* The rollout to start now. False: nothing; a rollout of the component may be under way. */
bool auto_rollout_next(struct arena *arena, const struct auto_rollout_world *world,
                       enum update_component component, struct auto_rollout *ret);

/* The last automatic rollout of a version. NULL: none. */
const struct update_rollout *auto_rollout_last(const struct auto_rollout_world *world,
                                               enum update_component component,
                                               const char *version);

#endif
