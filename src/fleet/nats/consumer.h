/*
 * consumer - a position in a stream from which messages are delivered.
 *
 * Pull consumers only: see fleet/nats/puller.h. The server's answer is compared with the request,
 * see fleet/nats/fields.h. Zero is the default of each setting. Memory: configurations are copied;
 * an answer is valid during its callback. Threads: the loop's.
 */
#ifndef FLEET_NATS_CONSUMER_H
#define FLEET_NATS_CONSUMER_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/nats/conn.h"
#include "fleet/nats/fields.h"

struct arena;
struct err;
struct nats_error;
struct nats_js;
struct value;

enum nats_deliver {
    NATS_DELIVER_ALL,
    NATS_DELIVER_LAST,
    NATS_DELIVER_NEW,
    NATS_DELIVER_FROM_SEQ,  /* start_seq */
    NATS_DELIVER_FROM_TIME, /* start_time */
    NATS_DELIVER_LAST_PER_SUBJECT,
};
enum nats_ack_policy { NATS_ACK_EXPLICIT, NATS_ACK_NONE, NATS_ACK_ALL };
enum nats_replay { NATS_REPLAY_INSTANT, NATS_REPLAY_ORIGINAL };

struct nats_consumer_config {
    const char *name; /* required */
    bool durable;     /* survives when unused */
    const char *description;
    int deliver, ack, replay; /* of the enums above */
    int64_t start_seq;
    const char *start_time; /* RFC 3339 */
    const char *filter_subject;
    struct nats_texts filter_subjects; /* needs server 2.10 */
    int64_t ack_wait, max_deliver, max_ack_pending, max_waiting;
    struct nats_ints backoff; /* pauses before redeliveries, instead of ack_wait */
    int64_t max_request_batch, max_request_expires, max_request_bytes;
    int64_t inactive_threshold; /* unused time after which a non-durable consumer is removed */
    int64_t replicas;
    bool headers_only, memory;
};

struct nats_consumer_info {
    int64_t pending;     /* undelivered messages */
    int64_t ack_pending; /* delivered, unacknowledged */
    int64_t redelivered, waiting;
    uint64_t delivered_stream_seq, delivered_consumer_seq, ack_floor_stream_seq;
    const struct value *config; /* as stored by the server */
    const struct value *reply;  /* the whole answer */
};

typedef void nats_consumer_fn(void *self, const struct nats_error *error,
                              const struct nats_consumer_info *info);

/* Creates it, or updates an existing one; an equal durable one is left alone. A difference that
 * cannot be changed fails with both values. */
int nats_consumer_ensure(const struct nats_js *js, const char *stream,
                         const struct nats_consumer_config *config, nats_consumer_fn *fn,
                         void *self, struct err *err);
int nats_consumer_info(const struct nats_js *js, const char *stream, const char *name,
                       nats_consumer_fn *fn, void *self, struct err *err);
int nats_consumer_delete(const struct nats_js *js, const char *stream, const char *name,
                         nats_done_fn *fn, void *self, struct err *err);

/* --- messages after their last delivery ---------------------------------------------- */

/* The server gives up on a message delivered `max_deliver` times without an ack. It reports that
 * once, on this subject with the names of stream and consumer appended. A stream of that subject
 * keeps the report for absent listeners. */
#define NATS_POISON_SUBJECT "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES"

struct nats_poison {
    struct str stream, consumer; /* in the arena */
    uint64_t stream_seq;
    int64_t deliveries;
};
/* False: another message. */
bool nats_poison_parse(struct arena *arena, struct str payload, struct nats_poison *ret_poison);

#endif
