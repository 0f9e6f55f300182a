/*
 * request - sends a message and waits for one reply.
 *
 * All replies of a connection come on one subscription, "<prefix>.<id>.*", made with the first
 * request; the last token identifies the request. Each request calls back exactly once:
 *
 *     a reply                                 msg
 *     no subscriber on the subject            NATS_FAULT_NO_RESPONDERS
 *     no permission to publish there          NATS_FAULT_DENIED, at once
 *     no reply in time                        NATS_FAULT_TIMEOUT
 *     the connection broke meanwhile          NATS_FAULT_DISCONNECTED
 *     the connection was closed               NATS_FAULT_CANCELED
 *
 * A request without a connection waits for one, until its timeout. Threads: the loop's.
 */
#ifndef FLEET_NATS_REQUEST_H
#define FLEET_NATS_REQUEST_H

#include <stdint.h>

#include "fleet/nats/conn.h"

/* `error` is NULL, or `msg` is. */
typedef void nats_reply_fn(void *self, const struct nats_error *error, const struct nats_msg *msg);

/* Sets `pub->reply`. Fails like nats_publish, and then does not call `fn`. `ret_id`, which may be
 * NULL, is for nats_request_cancel. */
int nats_request(struct nats_conn *conn, const struct nats_pub *pub, int64_t timeout_ns,
                 nats_reply_fn *fn, void *self, uint64_t *ret_id, struct err *err);
/* Its callback is no longer called. A finished id is fine. */
void nats_request_cancel(struct nats_conn *conn, uint64_t id);

#endif
