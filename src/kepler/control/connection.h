/*
 * connection - one end of the control socket, on the loop.
 *
 *     connection_start -> { message..., connection_send... } -> closed
 *
 * Sends a hello first and expects one; later messages go to `message`. Never blocks: bytes that
 * the kernel does not accept wait here, up to CONNECTION_WAITING_MAX. To send much, check
 * connection_is_busy first and continue in `drained`.
 *
 * `closed` comes once, from the loop, when the peer is gone, when it broke the protocol, or after
 * connection_close; the owner frees then. Within `message` the owner may send and close, not free.
 *
 * Memory: lives in its owner's struct, which connection_done ends. Threads: the loop's.
 */
#ifndef KEPLER_CONTROL_CONNECTION_H
#define KEPLER_CONTROL_CONNECTION_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/sys/loop.h"

struct connection;
struct err;
struct message;

/* Unsent bytes after which the peer counts as dead. */
#define CONNECTION_WAITING_MAX ((size_t)64 << 20)
/* Why a connection ended; longer texts are cut. */
#define CONNECTION_WHY_SIZE 1024
/* Above this, bulk senders should pause. */
#define CONNECTION_BUSY ((size_t)1 << 20)

struct connection_events {
    void *self;
    /* Valid during the call. */
    void (*message)(void *self, const struct message *message);
    /* The queue was long, and is empty now. May be NULL. */
    void (*drained)(void *self);
    /* `why` is "" for a normal end. */
    void (*closed)(void *self, const char *why);
};

struct connection {
    struct loop *loop;
    int fd;
    struct watch watch;
    struct connection_events events;
    struct buf in, out;
    bool greeted; /* the peer has sent its hello */
    bool closing; /* close when all is sent */
    bool writing; /* the watch waits for writability */
    bool busy;    /* `drained` is due */
    bool failed;  /* nothing can be sent */
    struct timer close_timer;
    char why[CONNECTION_WHY_SIZE];
};

/* Takes over `fd`, on failure too. */
int connection_start(struct connection *connection, struct loop *loop, int fd,
                     const struct connection_events *events, struct err *err);
/* A message that cannot be encoded is a bug of ours; a dead connection is not. */
int connection_send(struct connection *connection, const struct message *message, struct err *err);
bool connection_is_busy(const struct connection *connection);
/* Sends the queue, then closes. */
void connection_close(struct connection *connection);
void connection_done(struct connection *connection);

#endif
