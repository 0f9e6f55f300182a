/*
 * puller - receives messages of a consumer, as many at a time as the user can take.
 *
 *     nats_puller_new -> { message..., nats_puller_done... } -> nats_puller_free
 *
 * `batch` is how many messages the user can hold. A delivered message counts until
 * nats_puller_done, independent of its ack (fleet/nats/ack.h); only the rest is requested. The next
 * request is sent when all messages of the last have come and half of the batch is free, so the
 * server delivers while the user works on the rest. For a user that works long on each message
 * (`is_busy`), it is sent as soon as half of the batch is neither held nor requested.
 *
 * While a publisher of the same connection has more messages than its window, the next request
 * waits NATS_PULLER_SHARE_NS for each message of the last one, unless the user is busy.
 *
 * Requests expire and are sent again. The server confirms a request with heartbeats; without them
 * (no consumer, no permission, or the server lost the request) `trouble` is called and the request
 * sent again. It is also called for problems that creating the consumer again can fix. `failed` is
 * called once, when a retry cannot help: the consumer was deleted, or the request is refused. It
 * survives reconnects.
 *
 * Memory: may be freed before or after its connection is closed, and in its own callbacks. Threads:
 * the loop's.
 */
#ifndef FLEET_NATS_PULLER_H
#define FLEET_NATS_PULLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/nats/conn.h"
#include "fleet/nats/js.h"

struct err;
struct nats_error;
struct nats_puller;

#define NATS_PULLER_BATCH        256
#define NATS_PULLER_EXPIRES_NS   (INT64_C(30) * 1000000000)
#define NATS_PULLER_HEARTBEAT_NS (INT64_C(5) * 1000000000)
#define NATS_PULLER_PAUSE_NS     (INT64_C(200) * 1000000)
#define NATS_PULLER_SHARE_NS     (INT64_C(50) * 1000)

/* Zero is the default of each. */
struct nats_puller_options {
    const char *stream, *consumer; /* copied; required */
    size_t batch;
    bool is_busy;               /* processing a message takes at least as long as its delivery */
    int64_t max_bytes;          /* of one request's messages; 0: no limit */
    int64_t expires, heartbeat; /* the heartbeat is at most half of `expires` */
    nats_msg_fn *message;
    nats_done_fn *trouble, *failed; /* may be NULL */
    void (*idle)(void *self);       /* the server has no messages at the moment; may be NULL */
    void *self;
};

struct nats_puller *nats_puller_new(const struct nats_js *js,
                                    const struct nats_puller_options *options, struct err *err);
void nats_puller_free(struct nats_puller *puller);

/* `count` messages are processed. */
void nats_puller_done(struct nats_puller *puller, size_t count);

#endif
