/*
 * rollout - a version goes to many nodes, batch by batch: prepare all, apply all, let them soak,
 * confirm all, pause. Decisions only.
 *
 * A round asks every node of the batch how it is, and rollout_step decides from the record and the
 * answers what the record says next and which orders are sent. It remembers nothing else: a
 * master that takes over, one that has just replaced itself, and the one that began, do the same
 * thing. Every order may be repeated; the record is stored before the orders leave.
 *
 *     rollout_plan -> { rollout_next_nodes, ask them, rollout_step, store, send the orders }...
 *
 * A node fails when it refuses, when it went back to its old version by itself, and when it does
 * not answer or makes no progress for the time limit. With `max_failed` failures the rollout ends:
 * nodes in flight are rolled back, those that were confirmed stay as they are.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_UPDATE_ROLLOUT_H
#define FLEET_UPDATE_ROLLOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "core/data/params.h"
#include "fleet/wire/update.h"

struct arena;
struct err;

#define ROLLOUT_NODES_MAX 5000
/* Bytes of what a node says that go into the record. */
#define ROLLOUT_ERROR_MAX 256

/* Fills in batches and results of `rollout`, whose config says how large a batch is. `nodes` are
 * sorted. Fails with ERR_LIMIT. */
int rollout_plan(struct arena *arena, struct update_rollout *rollout,
                 const struct param_strs *nodes, struct value_time now, struct err *err);

/* Whose answers the next step needs: the nodes of the batch that are not done, or those in flight
 * when it is being aborted. */
struct param_strs rollout_next_nodes(struct arena *arena, const struct update_rollout *rollout);

/* What a node said in this round. */
struct rollout_view {
    bool answered;
    struct update_response said;
    const char *refusal; /* of the last order; NULL: it was not refused */
};

struct rollout_order {
    const char *node;
    enum update_verb verb;
};

struct rollout_orders {
    VEC(struct rollout_order) list;
};

struct rollout_round {
    const struct param_strs *nodes;   /* as rollout_next_nodes named them */
    const struct rollout_view *views; /* one for each */
    struct value_time now;
    int64_t node_limit; /* nanoseconds without progress */
};

/* One step. True: the record has changed. Orders are appended. */
bool rollout_step(struct arena *arena, struct update_rollout *rollout,
                  const struct rollout_round *round, struct rollout_orders *orders);

/* End it; what is in flight goes back. */
void rollout_abort(struct arena *arena, struct update_rollout *rollout, const char *why);

#endif
