/*
 * fleet_trees - which machines and masters use the published trees, by their heartbeats.
 *
 *     fleet_trees_take_master... -> fleet_trees_describe
 *     fleet_reach_init -> { fleet_reach_take_peel, fleet_reach_take_master }... ->
 * fleet_reach_count
 *
 * A peel writes its own heartbeat and can lie about itself only; its texts are cut, and must be
 * escaped for display.
 *
 * Memory: the arena. Threads: one.
 */
#ifndef FLEET_VIEW_TREES_H
#define FLEET_VIEW_TREES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/map.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "fleet/wire/liveness.h"

struct arena;
struct fleet_peel;
struct nats_kv_entry;

/* Copies of names and of the problem, cut to their limits. */
struct liveness_trees fleet_trees_copy(struct arena *arena, const struct liveness_trees *from);

/* The published trees, by the master with the newest heartbeat. */
struct fleet_trees {
    struct arena *arena;
    struct liveness_trees published;
    int64_t time; /* of that heartbeat; 0: no master is known */
};
void fleet_trees_take_master(struct fleet_trees *trees, const struct nats_kv_entry *entry);

enum fleet_trees_use {
    FLEET_TREES_UNKNOWN, /* offline, of an older version, or no master is known */
    FLEET_TREES_CURRENT,
    FLEET_TREES_OLD,
};
#define FLEET_TREES_USES (FLEET_TREES_OLD + 1)
const char *fleet_trees_use_name(enum fleet_trees_use use);
/* `ret_why`, in the arena: the reason of FLEET_TREES_OLD; "": none. */
enum fleet_trees_use fleet_trees_describe(struct arena *arena, const struct fleet_trees *trees,
                                          const struct fleet_peel *peel, int64_t now,
                                          const char **ret_why);

/* --- waiting ------------------------------------------------------------------------ */

/* A peel or a master with a recent heartbeat. */
struct fleet_reach_one {
    const char *id;
    struct liveness_trees trees;
    int64_t seen;   /* wall time of its heartbeat, in nanoseconds */
    bool has_trees; /* false: its version does not say */
};

struct fleet_reach {
    struct arena *arena;
    struct liveness_trees wanted; /* "": any */
    struct map peels, masters;    /* struct fleet_reach_one */
};

struct fleet_reach_missing {
    const char *name, *why;
    bool is_master;
};

struct fleet_reach_result {
    size_t peels, peels_with, masters, masters_with;
    VEC(struct fleet_reach_missing) missing; /* by name, masters first */
};

void fleet_reach_init(struct fleet_reach *reach, struct arena *arena,
                      const struct liveness_trees *wanted);
void fleet_reach_take_peel(struct fleet_reach *reach, const struct nats_kv_entry *entry);
void fleet_reach_take_master(struct fleet_reach *reach, const struct nats_kv_entry *entry);
/* Has everybody who is online at `now` the trees, or said why not for good? */
bool fleet_reach_is_settled(const struct fleet_reach *reach, int64_t now);
void fleet_reach_count(const struct fleet_reach *reach, int64_t now,
                       struct fleet_reach_result *ret);

#endif
