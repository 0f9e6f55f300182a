/*
 * rollout_start - an operator starts a rollout, or asks what it would be.
 *
 * The nodes are chosen and checked, the batches planned, and the record created; the watch of the
 * records brings it to the master that drives it.
 */
#ifndef FLEET_MASTER_UPDATE_ROLLOUT_START_H
#define FLEET_MASTER_UPDATE_ROLLOUT_START_H

#include "fleet/nats/kv.h"

struct master;
struct nats_msg;
struct update_board;

/* The bucket of the records. */
struct nats_kv rollout_records(const struct master *master);

/* Answers the message, now or later. */
void rollout_start_answer(struct master *master, struct update_board *board,
                          const struct nats_msg *msg);

#endif
