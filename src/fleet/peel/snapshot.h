/*
 * snapshot - a tree of values that several threads read while the next one is made.
 *
 * Facts and settings: the loop replaces the current one, a job keeps the one it began with.
 *
 *     snapshot_new -> fill arena and value -> { snapshot_hold, snapshot_drop }...
 *
 * Threads: holding and dropping any; the value never changes once it is shared.
 */
#ifndef FLEET_PEEL_SNAPSHOT_H
#define FLEET_PEEL_SNAPSHOT_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/data/value.h"

struct snapshot {
    atomic_uint holders;
    uint64_t version; /* of this process, from 1: no two snapshots have the same */
    struct arena arena;
    struct value value;         /* a map */
    const struct value *grains; /* of facts: in Salt's form, so that not every job makes them */
};

/* Held once; an empty map. */
struct snapshot *snapshot_new(void);
struct snapshot *snapshot_hold(struct snapshot *snapshot);
/* NULL is fine. */
void snapshot_drop(struct snapshot *snapshot);

#endif
