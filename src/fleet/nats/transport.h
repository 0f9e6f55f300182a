/*
 * transport - bytes to and from one server: a socket, with or without TLS.
 *
 *     nats_transport_init
 *     nats_transport_open -> opened -> { input... } [ nats_transport_secure -> secured ] -> closed
 *
 * Output is appended to the buffer of nats_transport_begin and sent at the end of the loop's turn.
 * Nothing blocks. `closed` comes when the peer closes it or violates the protocol, not for
 * nats_transport_close. After either, the transport can be opened again. Each callback may close
 * it.
 *
 * Memory: lives in its owner's struct; has buffers only while bytes wait. Threads: the loop's.
 */
#ifndef FLEET_NATS_TRANSPORT_H
#define FLEET_NATS_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/sys/loop.h"

struct err;
struct nats_hub;
struct nats_tls;
struct ssl_st;

struct nats_transport_events {
    void (*opened)(void *self);
    void (*secured)(void *self);
    /* All unused bytes; returns how many it used. */
    size_t (*input)(void *self, struct str bytes);
    /* Buffered output fell below half of the limit. */
    void (*writable)(void *self);
    void (*closed)(void *self, const struct err *why);
};

enum nats_transport_state {
    NATS_TRANSPORT_CLOSED,
    NATS_TRANSPORT_CONNECTING,
    NATS_TRANSPORT_PLAIN,
    NATS_TRANSPORT_HANDSHAKE,
    NATS_TRANSPORT_SECURE,
};

struct nats_transport {
    struct nats_hub *hub;
    const struct nats_transport_events *events;
    void *self;
    enum nats_transport_state state;
    struct watch watch;
    int fd;
    unsigned epoch; /* incremented by each close, to detect one during a callback */
    bool writing;   /* the watch waits until writable */
    bool busy;      /* `writable` will be called */
    struct buf in;  /* an incomplete frame */
    struct buf out; /* plain, from out_at on */
    size_t out_at, out_max;
    struct buf cipher; /* encrypted, from cipher_at on */
    size_t cipher_at;
    struct str wire; /* encrypted input, not read yet */
    struct ssl_st *ssl;
    struct nats_transport *dirty_next, **dirty_back;
};

/* An incomplete frame has at most `in_max` bytes. The owner keeps the output below `out_max`. */
void nats_transport_init(struct nats_transport *transport, struct nats_hub *hub,
                         const struct nats_transport_events *events, void *self, size_t in_max,
                         size_t out_max);
int nats_transport_open(struct nats_transport *transport, const struct sockaddr *address,
                        socklen_t size, struct err *err);
/* Begins TLS; `name` is the host or IP address that the certificate must name. */
int nats_transport_secure(struct nats_transport *transport, struct nats_tls *tls, const char *name,
                          struct err *err);
/* Drops everything, without a callback. */
void nats_transport_close(struct nats_transport *transport);

/* The output buffer; it is sent at the end of the turn. */
struct buf *nats_transport_begin(struct nats_transport *transport);
size_t nats_transport_waiting(const struct nats_transport *transport);
/* More than half of the limit is buffered: `writable` will come. */
bool nats_transport_is_busy(struct nats_transport *transport);

/* For the hub. */
void nats_transport_flush(struct nats_transport *transport);

#endif
