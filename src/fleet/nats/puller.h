/*
 * puller - messages of a consumer, as many at a time as their user can take.
 *
 *     nats_puller_new -> { message..., nats_puller_done... } -> nats_puller_free
 *
 * `batch` is how many messages the user can hold. Each that was handed over counts until the user
 * says that it is done with it, whatever it told the server (fleet/nats/ack.h); no more than the
 * rest is asked for. The next request leaves when all messages of the last have come and half of
 * the batch is free, so the server delivers while the user works on the rest. For a user that works
 * long on each message (`is_busy`), it leaves as soon as half of the batch is neither held nor to
 * come.
 *
 * While a publisher of the same connection has more to send than its window takes, the next request
 * waits for NATS_PULLER_SHARE_NS for each message that came by the last, unless the user is busy.
 *
 * Requests expire and are made again. The server proves with heartbeats that it has the request;
 * when they stay out (the consumer is gone, there is no right to it, the server lost it), `trouble`
 * is called and the request made again. What the user can fix by making the consumer again goes
 * there, too. `failed` is called once, when asking again cannot help: the consumer was deleted, the
 * request is refused. Reconnects are survived.
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
    bool is_busy;               /* work on a message takes as long as its delivery, or longer */
    int64_t max_bytes;          /* of one request's messages; 0: no limit */
    int64_t expires, heartbeat; /* the heartbeat is at most half of the other */
    nats_msg_fn *message;
    nats_done_fn *trouble, *failed; /* may be NULL */
    void (*idle)(void *self);       /* the server has nothing for us at the moment; may be NULL */
    void *self;
};

struct nats_puller *nats_puller_new(const struct nats_js *js,
                                    const struct nats_puller_options *options, struct err *err);
void nats_puller_free(struct nats_puller *puller);

/* So many messages are done with. */
void nats_puller_done(struct nats_puller *puller, size_t count);

#endif
