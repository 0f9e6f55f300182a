/*
 * rollout_start - an operator starts a rollout, or previews it.
 *
 * Chooses and checks the nodes, plans the batches, and creates the record; the watch passes it to
 * its driver.
 */
#ifndef FLEET_MASTER_UPDATE_ROLLOUT_START_H
#define FLEET_MASTER_UPDATE_ROLLOUT_START_H

#include "fleet/nats/kv.h"

struct master;
struct nats_msg;
struct update_board;

/* The bucket of rollout records. */
struct nats_kv rollout_records(const struct master *master);

/* Answers the message, now or later. */
void rollout_start_answer(struct master *master, struct update_board *board,
                          const struct nats_msg *msg);

#endif
