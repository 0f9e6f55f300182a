/*
 * ordered - receives the messages of a stream, each once, in order, without a gap.
 *
 *     nats_ordered_new -> { message... caught_up, message... } -> nats_ordered_free
 *
 * It uses a private consumer, which the server removes when unused. Whenever something is missing
 * (a gap in the numbers, a lost connection, a removed consumer) the consumer is created again,
 * after the last message received. Nothing is acknowledged.
 *
 * `caught_up` comes once, when all messages that existed at the start have been delivered. `failed`
 * comes at most once, when it cannot continue: no permission, no such stream, closed.
 *
 * Memory: may be freed before or after its connection is closed, and in its own callbacks.
 * Threads: the loop's.
 */
#ifndef FLEET_NATS_ORDERED_H
#define FLEET_NATS_ORDERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/nats/ack.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/consumer.h"
#include "fleet/nats/js.h"

struct err;
struct nats_ordered;

struct nats_ordered_options {
    const char *stream, *filter_subject; /* copied; the filter may be NULL */
    int deliver;            /* enum nats_deliver: ALL, NEW, LAST_PER_SUBJECT, FROM_TIME */
    const char *start_time; /* of FROM_TIME, RFC 3339; borrowed for its lifetime */
    uint64_t after_seq;     /* only messages after this one, whatever `deliver` is; 0: any */
    bool headers_only;
    size_t batch; /* 0: the puller's default */
    void (*message)(void *self, const struct nats_msg *msg, const struct nats_delivery *delivery);
    void (*caught_up)(void *self); /* may be NULL */
    nats_done_fn *failed;          /* may be NULL */
    void *self;
};

struct nats_ordered *nats_ordered_new(const struct nats_js *js,
                                      const struct nats_ordered_options *options, struct err *err);
void nats_ordered_free(struct nats_ordered *ordered);

#endif
