/*
 * ack - how to acknowledge a message of a consumer, and what its reply subject contains.
 *
 * All take the reply subject of the message, which may be kept for as long as the message is being
 * worked on. An ack that is lost with the connection is made up for by the server: the message
 * comes again. nats_ack_sync reports when the server has it.
 */
#ifndef FLEET_NATS_ACK_H
#define FLEET_NATS_ACK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "fleet/nats/conn.h"

struct err;

/* All fail as nats_publish does. */
int nats_ack(struct nats_conn *conn, struct str reply, struct err *err);
/* Not now: bring it again, after `delay` nanoseconds when that is not 0. */
int nats_nak(struct nats_conn *conn, struct str reply, int64_t delay, struct err *err);
/* Still at it: begin to count ack_wait anew. */
int nats_ack_progress(struct nats_conn *conn, struct str reply, struct err *err);
/* Never bring it again. */
int nats_ack_term(struct nats_conn *conn, struct str reply, struct err *err);
int nats_ack_sync(struct nats_conn *conn, struct str reply, int64_t timeout, nats_done_fn *fn,
                  void *self, struct err *err);

struct nats_delivery {
    struct str stream, consumer;
    uint64_t deliveries; /* this one included */
    uint64_t stream_seq, consumer_seq;
    int64_t time;     /* when it was stored, nanoseconds since 1970 */
    uint64_t pending; /* messages after it */
};

/* False when it is not the reply subject of a consumer. Views borrow from `reply`. */
bool nats_delivery_parse(struct str reply, struct nats_delivery *ret_delivery);

#endif
