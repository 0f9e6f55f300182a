/*
 * ack - acknowledges messages of a consumer, and parses their reply subjects.
 *
 * All take the reply subject of the message, which may be kept while the message is processed. If
 * an ack is lost with the connection, the server delivers the message again. nats_ack_sync reports
 * when the server has it.
 */
#ifndef FLEET_NATS_ACK_H
#define FLEET_NATS_ACK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "fleet/nats/conn.h"

struct err;

/* All fail like nats_publish. */
int nats_ack(struct nats_conn *conn, struct str reply, struct err *err);
/* Asks for redelivery, after `delay` nanoseconds if not 0. */
int nats_nak(struct nats_conn *conn, struct str reply, int64_t delay, struct err *err);
/* Still working: restarts ack_wait. */
int nats_ack_progress(struct nats_conn *conn, struct str reply, struct err *err);
/* Refuses redelivery. */
int nats_ack_term(struct nats_conn *conn, struct str reply, struct err *err);
int nats_ack_sync(struct nats_conn *conn, struct str reply, int64_t timeout, nats_done_fn *fn,
                  void *self, struct err *err);

struct nats_delivery {
    struct str stream, consumer;
    uint64_t deliveries; /* this one included */
    uint64_t stream_seq, consumer_seq;
    int64_t time;     /* storage time, nanoseconds since 1970 */
    uint64_t pending; /* messages after it */
};

/* False if it is not the reply subject of a consumer. Views borrow from `reply`. */
bool nats_delivery_parse(struct str reply, struct nats_delivery *ret_delivery);

#endif
