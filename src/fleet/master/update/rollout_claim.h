/*
 * rollout_claim - one rollout of a component at a time, also when two are started at once.
 *
 * Masters know of each other's rollouts by a watch, which is a moment behind. So whoever starts one
 * first makes an entry by CAS that names it:
 *
 *     leases/rollout.<component>    the id of the rollout
 *
 * The bucket forgets it after 15 s, when all watches have the rollout. Before that it can be taken
 * by CAS once the rollout that it names has ended.
 *
 * Memory: its own until `fn` was called. Threads: the loop's.
 */
#ifndef FLEET_MASTER_UPDATE_ROLLOUT_CLAIM_H
#define FLEET_MASTER_UPDATE_ROLLOUT_CLAIM_H

#include "fleet/nats/js.h"
#include "fleet/wire/update.h"

struct err;
struct update_board;

/* NULL: the rollout may be stored. */
typedef void rollout_claim_fn(void *self, const char *error);

/* `fn` is called later, once; not after -1. The board must outlive that. */
int rollout_claim_begin(const struct nats_js *js, const struct update_board *board,
                        const struct update_rollout *rollout, rollout_claim_fn *fn, void *self,
                        struct err *err);

#endif
