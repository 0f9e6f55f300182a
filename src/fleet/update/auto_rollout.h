/*
 * auto_rollout - which promoted version goes to which nodes without being asked. Decisions only.
 *
 * A node is due when the newest version that is promoted for its system is newer than the one it
 * runs: nothing ever goes back by itself. Degraded nodes, those that refuse updates and those with
 * an update under way are left out.
 *
 * Rollouts of a version are numbered, `rol-auto-<component>-<version>-r<N>`. The number follows
 * from the records, so that masters that decide at the same time choose the same id, and one of
 * them creates it. A node gets a version once: one that failed, or that an operator brought back,
 * is left alone, and a rollout that was aborted holds the version. Promoting the version once more
 * begins a new round, in which both are forgotten.
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

/* What is known of the fleet. */
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
    struct param_strs nodes; /* sorted; ROLLOUT_NODES_MAX at most, the others are due again */
    int32_t promotion;
};

/* The rollout to start now. False: nothing; a rollout of the component may be under way. */
bool auto_rollout_next(struct arena *arena, const struct auto_rollout_world *world,
                       enum update_component component, struct auto_rollout *ret);

/* The last automatic rollout of a version. NULL: there was none. */
const struct update_rollout *auto_rollout_last(const struct auto_rollout_world *world,
                                               enum update_component component,
                                               const char *version);

#endif
