/*
 * rollout_claim - allows one rollout per component at a time, even when two start at once.
 *
 * Masters see each other's rollouts through a watch, with a delay. So a master that starts one
 * first creates an entry by CAS:
 *
 *     leases/rollout.<component>    the id of the rollout
 *
 * The bucket expires it after 15 s, when all watches have the rollout. It can be taken over by CAS
 * earlier, once its rollout has ended.
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
