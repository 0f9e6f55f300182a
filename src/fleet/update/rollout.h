/*
 * rollout - updates many nodes to a version, batch by batch: prepare all, apply all, let them soak,
 * confirm all, pause. Decisions only.
 *
 * Each round asks every node of the batch for its status. rollout_step decides the next record and
 * the commands to send, from the record and the answers alone: the first master, one that takes
 * over, and one that has just updated itself all do the same. Every command may be repeated; the
 * record is stored before commands are sent.
 *
 *     rollout_plan -> { rollout_next_nodes, ask them, rollout_step, store, send the commands }...
 *
 * A node fails when it refuses, when it rolled back by itself, and when it does not answer or makes
 * no progress within the time limit. `max_failed` failures end the rollout: unconfirmed nodes of
 * the batch are rolled back, confirmed ones keep the version.
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
/* Bytes of a node's message in the record. */
#define ROLLOUT_ERROR_MAX 256

/* Fills in batches and results of `rollout`, with the batch size of its config. `nodes` must be
 * sorted. Fails with ERR_LIMIT. */
int rollout_plan(struct arena *arena, struct update_rollout *rollout,
                 const struct param_strs *nodes, struct value_time now, struct err *err);

/* The nodes to ask for the next step: unfinished ones of the batch, or, during an abort, those with
 * an update under way. */
struct param_strs rollout_next_nodes(struct arena *arena, const struct update_rollout *rollout);

/* A node's answer in this round. */
struct rollout_view {
    bool answered;
    struct update_response said;
    const char *refusal; /* of the last command; NULL: not refused */
};

struct rollout_order {
    const char *node;
    enum update_verb verb;
};

struct rollout_orders {
    VEC(struct rollout_order) list;
};

struct rollout_round {
    const struct param_strs *nodes;   /* from rollout_next_nodes */
    const struct rollout_view *views; /* one for each node */
    struct value_time now;
    int64_t node_limit; /* nanoseconds without progress */
};

/* One step. True: the record has changed. Appends commands. */
bool rollout_step(struct arena *arena, struct update_rollout *rollout,
                  const struct rollout_round *round, struct rollout_orders *orders);

/* Aborts it; nodes with an update under way are rolled back. */
void rollout_abort(struct arena *arena, struct update_rollout *rollout, const char *why);

#endif
