/*
 * publisher - stores messages in a stream reliably.
 *
 *     nats_publisher_new -> { nats_publisher_send | ready... } -> nats_publisher_free
 *
 * Each message is kept until the server has acknowledged that it is stored. Up to `window` messages
 * are in flight; when the window is full, more are sent once half of it is stored. After a lost
 * connection, or a while without an answer, they are sent again in order. Even then a message with
 * an id is stored once, within the stream's duplicate window: its ack says so. One without an id
 * may be stored twice.
 *
 * Messages of one connection are stored in the order of sending, even across reconnects. If a
 * replicated stream changes its leader, one message may overtake another; `in_order` sends a
 * message only after the one before it on the same subject is stored.
 *
 * The queue is bounded: nats_publisher_send fails with ERR_BUSY when it is full, and `ready` comes
 * when half of it is free again.
 *
 * Memory: messages are copied. May be freed before or after its connection is closed; pending
 * messages call back with NATS_FAULT_CANCELED. Threads: the loop's.
 */
#ifndef FLEET_NATS_PUBLISHER_H
#define FLEET_NATS_PUBLISHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "fleet/nats/js.h"

struct err;
struct nats_error;
struct nats_publisher;

#define NATS_PUBLISHER_WINDOW      1024
#define NATS_PUBLISHER_ACK_WAIT_NS (INT64_C(5) * 1000000000)
#define NATS_PUBLISHER_PAUSE_NS    (INT64_C(100) * 1000000)
#define NATS_PUBLISHER_BYTES_MAX   ((size_t)64 << 20)

/* Zero is the default of each. */
struct nats_publisher_options {
    size_t window;    /* messages in flight */
    size_t queue_max; /* messages kept, including those in flight; default: 4 windows */
    size_t bytes_max; /* of all kept messages */
    int64_t ack_wait; /* before a message is resent */
    int64_t give_up;  /* after which a message fails, even without a connection; 0: never */
    int64_t linger;   /* delay of a message, to send it together with later ones; 0: none */
    bool in_order;
    const char *stream;        /* refuse acks of other streams; borrowed; NULL: any */
    void (*ready)(void *self); /* may be NULL */
    void *self;
};

struct nats_stored_ack {
    uint64_t seq;
    bool duplicate; /* already stored before */
};
/* `error` is NULL, or `ack` is. */
typedef void nats_stored_ack_fn(void *self, const struct nats_error *error,
                                const struct nats_stored_ack *ack);

struct nats_publisher *nats_publisher_new(const struct nats_js *js,
                                          const struct nats_publisher_options *options);
void nats_publisher_free(struct nats_publisher *publisher);

struct nats_store {
    struct str subject, payload;
    struct str header; /* by nats_header_add; may be empty */
    struct str id;     /* Nats-Msg-Id, see `id_secret` of struct nats_js; may be empty */
    /* Conditions; else the stream refuses with NATS_FAULT_CONFLICT. -1 in expect_* means 0, since
     * zero is "anything". */
    int64_t expect_last_seq, expect_last_subject_seq;
    const char *expect_stream, *expect_last_id; /* may be NULL */
};

/* `fn` is called exactly once unless this fails. */
int nats_publisher_send(struct nats_publisher *publisher, const struct nats_store *store,
                        nats_stored_ack_fn *fn, void *self, struct err *err);
/* Sends delayed messages now. */
void nats_publisher_hurry(struct nats_publisher *publisher);
/* Number of kept messages. */
size_t nats_publisher_count(const struct nats_publisher *publisher);
/* Its connection is closed. */
bool nats_publisher_is_closed(const struct nats_publisher *publisher);

/* Decodes the ack of a message stored in this stream (NULL: any), or its error. */
int nats_stored_ack_decode(struct str payload, const char *stream, struct nats_stored_ack *ret_ack,
                           struct nats_error *reterr_error);

#endif
