/*
 * conn - a connection to a NATS server, or to one after the other of a cluster.
 *
 * This is the first page of the manual; each header is one more, with the calls in their order.
 *
 *     hub, conn                     connections of a loop; subscribing and publishing
 *     request, header               questions with one answer; headers of messages
 *     tls, creds, jwt, nkey, xkey   TLS and logins; claims, keys to sign and to seal with
 *     js, stream, consumer          JetStream: what is kept, and how it is handed out
 *     publisher                     messages that must be stored
 *     puller, ordered, ack          messages that were stored, and what became of them
 *     kv, object                    keys with values; files of any size
 *     error, subject                what went wrong; names, and whether they match
 *     servers, info, parser         addresses; what a server says of itself; the protocol
 *
 * A program, all of it but its main:
 *
 *     static void on_hi(void *self, const struct nats_msg *msg)
 *     {
 *         (void)printf("%.*s: %.*s\n", STR_ARG(msg->subject), STR_ARG(msg->payload));
 *         loop_stop(self);
 *     }
 *
 *     static int say_hello(struct loop *loop, struct nats_tls *tls, struct err *err)
 *     {
 *         const char *servers[] = { "tls://nats.example.com:4222" };
 *         struct nats_hub *hub = nats_hub_new(loop);
 *         struct nats_options options = { .servers = servers, .server_count = 1, .tls = tls };
 *         struct nats_conn *conn = nats_conn_new(hub, &options, err);
 *         struct nats_sub_options all = { .subject = "hello.>", .message = on_hi, .self = loop };
 *         struct nats_pub hi = { .subject = STR("hello.world"), .payload = STR("hi") };
 *         int result = -1;
 *
 *         if (conn && nats_sub_new(conn, &all, err) && nats_publish(conn, &hi, err) == 0) {
 *             loop_run(loop);
 *             result = 0;
 *         }
 *         nats_conn_free(conn);
 *         nats_hub_free(hub);
 *         return result;
 *     }
 *
 * Everything works from the first call on. Subscriptions are made again after each reconnect.
 * Messages that are published while there is no connection wait for one, up to `parked_max` bytes;
 * what was handed over while there was one and did not leave before it broke is lost, as core NATS
 * has it: see fleet/nats/publisher.h for messages that must arrive. Nothing blocks; all that was
 * published in a turn of the loop leaves with one system call at its end.
 *
 * Callbacks come from the loop. Each may publish, subscribe, unsubscribe, and free the connection.
 * A message and all views of it are valid during its callback.
 *
 * Reconnecting goes on for ever, with pauses that grow and differ at random, unless `attempts_max`
 * says otherwise; then the connection is closed. A server that is about to shut down (lame duck) is
 * left last in the next round.
 *
 * Errors of the server (-ERR) that name a subject are reported to the subscription or to the oldest
 * request that has it; all others to the listeners.
 *
 * Threads: the loop's.
 */
#ifndef FLEET_NATS_CONN_H
#define FLEET_NATS_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct buf;
struct err;
struct loop;
struct nats_conn;
struct nats_creds;
struct nats_error;
struct nats_hub;
struct nats_requests;
struct nats_tls;

/* --- options ------------------------------------------------------------------------ */

#define NATS_CONNECT_TIMEOUT_NS (INT64_C(10) * 1000000000)
#define NATS_PING_INTERVAL_NS   (INT64_C(30) * 1000000000)
#define NATS_PINGS_MAX          2
#define NATS_BACKOFF_MIN_NS     (INT64_C(250) * 1000000)
#define NATS_BACKOFF_MAX_NS     (INT64_C(15) * 1000000000)
#define NATS_OUT_MAX            ((size_t)8 << 20)
#define NATS_PARKED_MAX         ((size_t)1 << 20)
#define NATS_INBOX_PREFIX       "_INBOX"

/* The credentials to log in with, asked for at each attempt, so that renewed ones are used. The
 * connection wipes them. */
typedef int nats_creds_fn(void *self, struct nats_creds *ret_creds, struct err *err);

/* Zero is the default of each. Texts are copied. */
struct nats_options {
    const char *const *servers; /* see fleet/nats/servers.h; one at least */
    size_t server_count;
    bool ordered;     /* try servers in the order given; default: at random */
    const char *name; /* shown by the server's monitoring */

    struct nats_tls *tls; /* borrowed; NULL needs `plain` */
    bool plain;           /* no TLS: anybody on the way can read and change everything */

    nats_creds_fn *creds;
    void *creds_self;
    const char *user, *password, *token;

    const char
        *inbox_prefix; /* subject of replies; give each user their own, and the right to it */
    bool no_echo;      /* do not send us what we publish ourselves */

    unsigned attempts_max; /* in a row without success, then it is closed; 0: for ever */
    int64_t connect_timeout, ping_interval, backoff_min, backoff_max; /* nanoseconds */
    unsigned pings_max;                                               /* without an answer */
    size_t out_max, parked_max;                                       /* bytes */
};

/* --- life --------------------------------------------------------------------------- */

enum nats_conn_state {
    NATS_CONN_WAITING,    /* for the next attempt */
    NATS_CONN_CONNECTING, /* name, socket, TLS, login */
    NATS_CONN_CONNECTED,
    NATS_CONN_CLOSED,
};

/* Fails for options that make no sense; the network fails later. */
struct nats_conn *nats_conn_new(struct nats_hub *hub, const struct nats_options *options,
                                struct err *err);
/* End it now. Requests and other operations under way call back with NATS_FAULT_CANCELED, then
 * subscriptions and listeners are forgotten. NULL is fine. */
void nats_conn_free(struct nats_conn *conn);
/* Unsubscribe, let what is on its way arrive, send everything, then close; NATS_EVENT_CLOSED comes
 * at the end. At once when there is no connection. */
void nats_conn_drain(struct nats_conn *conn);

/* Log in again, with the credentials that there are now: NATS_EVENT_DISCONNECTED, then an attempt
 * without a pause. Nothing happens without a connection: the next attempt uses them anyway. */
void nats_conn_reconnect(struct nats_conn *conn);

enum nats_conn_state nats_conn_state(const struct nats_conn *conn);
/* NATS_VERSION of the server; 0 before the first connection. */
int nats_conn_version(const struct nats_conn *conn);
/* Name of the server, "" before the first connection. */
const char *nats_conn_server(const struct nats_conn *conn);
/* Its id, which is another after each of its starts; "" before the first connection. */
const char *nats_conn_server_id(const struct nats_conn *conn);
/* Is the server one of a cluster? False before the first connection. */
bool nats_conn_is_clustered(const struct nats_conn *conn);
/* The largest message, headers included. */
size_t nats_conn_max_payload(const struct nats_conn *conn);
struct loop *nats_conn_loop(const struct nats_conn *conn);
struct nats_hub *nats_conn_hub(const struct nats_conn *conn);

/* --- events ------------------------------------------------------------------------- */

enum nats_event_kind {
    NATS_EVENT_CONNECTED,    /* also again; subscriptions are made */
    NATS_EVENT_DISCONNECTED, /* `error` says why; a new attempt follows */
    NATS_EVENT_RETRY,        /* an attempt failed, `error` says why; another follows */
    NATS_EVENT_CLOSED, /* for good; the last event. `error`: NATS_FAULT_CANCELED when asked for */
    NATS_EVENT_ERROR,  /* the server complained, and nobody else was called */
    NATS_EVENT_DENIED, /* no right to publish to `subject`; for those who keep what they sent */
    NATS_EVENT_LAME_DUCK, /* the server will shut down */
    NATS_EVENT_WRITABLE,  /* nats_conn_is_busy was true and is now false */
};

struct nats_event {
    enum nats_event_kind kind;
    const struct nats_error *error; /* NULL: none */
    struct str subject;
    bool *handled; /* DENIED: set by who knows the operation, then nobody else is called */
};

struct nats_listener;
typedef void nats_event_fn(struct nats_listener *listener, const struct nats_event *event);

/* Lives in its owner's struct. Zero is one that does not listen. */
struct nats_listener {
    nats_event_fn *fn;
    struct nats_listener *next, **back;
};

/* Listeners are called in the order in which they came. */
void nats_listen(struct nats_conn *conn, struct nats_listener *listener, nats_event_fn *fn);
/* Not listening is fine. */
void nats_unlisten(struct nats_conn *conn, struct nats_listener *listener);

/* --- publishing --------------------------------------------------------------------- */

struct nats_pub {
    struct str subject;
    struct str reply;  /* may be empty */
    struct str header; /* by nats_header_add; may be empty */
    struct str payload;
};

/* Fails for a bad subject, for a message that is too large (ERR_LIMIT), when too much waits to be
 * sent (ERR_BUSY), and when the connection is closed (ERR_CANCELED). */
int nats_publish(struct nats_conn *conn, const struct nats_pub *pub, struct err *err);
/* Half of `out_max` waits: who can should pause until NATS_EVENT_WRITABLE. */
bool nats_conn_is_busy(struct nats_conn *conn);

/* `error` is NULL when all went well. */
typedef void nats_done_fn(void *self, const struct nats_error *error);

/* Call back when the server has seen everything that was sent before, or the connection broke. */
int nats_flush(struct nats_conn *conn, nats_done_fn *fn, void *self, struct err *err);

/* --- subscribing -------------------------------------------------------------------- */

struct nats_msg {
    struct str subject, reply;
    struct str header; /* the block; empty when there is none */
    struct str payload;
};

struct nats_sub;
typedef void nats_msg_fn(void *self, const struct nats_msg *msg);

struct nats_sub_options {
    const char *subject;
    const char *queue; /* NULL: none */
    nats_msg_fn *message;
    nats_done_fn
        *failed; /* the server refused the subscription; may be NULL: listeners are called */
    void *self;
};

/* Owned by the caller; gone with the connection at the latest. */
struct nats_sub *nats_sub_new(struct nats_conn *conn, const struct nats_sub_options *options,
                              struct err *err);
/* No more messages come. NULL is fine. */
void nats_sub_free(struct nats_sub *sub);

/* Append a subject that nobody else has, below the connection's inbox prefix. */
void nats_inbox_print(struct nats_conn *conn, struct buf *out);

#endif
