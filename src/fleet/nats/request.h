/*
 * request - a message and the one answer to it.
 *
 * All answers of a connection come on one subscription, "<prefix>.<id>.*", which is made with the
 * first request; the last token says which request. Each request calls back exactly once:
 *
 *     an answer                               msg
 *     nobody listens on the subject           NATS_FAULT_NO_RESPONDERS
 *     no right to publish there               NATS_FAULT_DENIED, at once
 *     no answer in time                       NATS_FAULT_TIMEOUT
 *     the connection broke meanwhile          NATS_FAULT_DISCONNECTED
 *     the connection was closed               NATS_FAULT_CANCELED
 *
 * A request that is made while there is no connection waits for one, until its time is over.
 * Threads: the loop's.
 */
#ifndef FLEET_NATS_REQUEST_H
#define FLEET_NATS_REQUEST_H

#include <stdint.h>

#include "fleet/nats/conn.h"

/* `error` is NULL, or `msg` is. */
typedef void nats_reply_fn(void *self, const struct nats_error *error, const struct nats_msg *msg);

/* `pub->reply` is set here. When it fails, as nats_publish does, `fn` is not called. `ret_id`,
 * which may be NULL, is for nats_request_cancel. */
int nats_request(struct nats_conn *conn, const struct nats_pub *pub, int64_t timeout_ns,
                 nats_reply_fn *fn, void *self, uint64_t *ret_id, struct err *err);
/* Its callback is no longer called. An id that is done is fine. */
void nats_request_cancel(struct nats_conn *conn, uint64_t id);

#endif
