/*
 * conn - a connection to a NATS server, or to a cluster, one server at a time.
 *
 * This is the first page of the manual; each of these headers is another one:
 *
 *     hub, conn                     connections of a loop; subscribing and publishing
 *     request, header               requests with one reply; message headers
 *     tls, creds, jwt, nkey, xkey   TLS and logins; claims, keys to sign and seal
 *     js, stream, consumer          JetStream: storage and delivery
 *     snapshot                      copies of streams, and back
 *     publisher                     stores messages reliably
 *     puller, ordered, ack          receive and acknowledge stored messages
 *     kv, object                    keys with values; files of any size
 *     error, subject                errors; names and patterns
 *     servers, info, parser         addresses; server information; the protocol
 *
 * A complete program, except for main:
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
 * Everything works from the first call on. Subscriptions are restored after each reconnect.
 * Messages published without a connection wait for one, up to `parked_max` bytes; messages that
 * were buffered when a connection broke are lost, as in core NATS: see fleet/nats/publisher.h for
 * messages that must arrive. Nothing blocks; all messages published in one turn of the loop are
 * sent with one system call at its end.
 *
 * Callbacks come from the loop. Each may publish, subscribe, unsubscribe, and free the connection.
 * A message and all views of it are valid during its callback.
 *
 * Reconnecting never gives up, with growing random pauses, unless `attempts_max` closes the
 * connection. A server that is about to shut down (lame duck) comes last in the next round.
 *
 * Server errors (-ERR) that name a subject are reported to its subscription or to its oldest
 * request; all others to the listeners.
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

/* Returns the credentials for a login. Called for each attempt, so renewed ones are used. The
 * connection wipes them. */
typedef int nats_creds_fn(void *self, struct nats_creds *ret_creds, struct err *err);

/* Zero is the default of each. Texts are copied. */
struct nats_options {
    const char *const *servers; /* see fleet/nats/servers.h; at least one */
    size_t server_count;
    bool ordered;     /* try servers in the order given; default: at random */
    const char *name; /* shown by the server's monitoring */

    struct nats_tls *tls; /* borrowed; NULL needs `plain` */
    bool plain;           /* no TLS: anyone on the network can read and change everything */

    nats_creds_fn *creds;
    void *creds_self;
    const char *user, *password, *token;

    const char *inbox_prefix; /* subject of replies; give each user their own, with permission */
    bool no_echo;             /* do not receive our own messages */

    unsigned attempts_max; /* consecutive failed attempts, then it is closed; 0: no limit */
    int64_t connect_timeout, ping_interval, backoff_min, backoff_max; /* nanoseconds */
    unsigned pings_max;                                               /* unanswered pings */
    size_t out_max, parked_max;                                       /* bytes */
};

/* --- life --------------------------------------------------------------------------- */

enum nats_conn_state {
    NATS_CONN_WAITING,    /* before the next attempt */
    NATS_CONN_CONNECTING, /* name, socket, TLS, login */
    NATS_CONN_CONNECTED,
    NATS_CONN_CLOSED,
};

/* Fails for invalid options; network errors come later. */
struct nats_conn *nats_conn_new(struct nats_hub *hub, const struct nats_options *options,
                                struct err *err);
/* Closes and frees it now. Pending requests and other operations call back with
 * NATS_FAULT_CANCELED, then subscriptions and listeners are dropped. NULL is fine. */
void nats_conn_free(struct nats_conn *conn);
/* Unsubscribes, lets pending messages arrive, sends everything, then closes; NATS_EVENT_CLOSED
 * comes at the end. Immediate without a connection. */
void nats_conn_drain(struct nats_conn *conn);

/* Logs in again with the current credentials: NATS_EVENT_DISCONNECTED, then an attempt without a
 * pause. Does nothing without a connection: the next attempt uses them anyway. */
void nats_conn_reconnect(struct nats_conn *conn);

enum nats_conn_state nats_conn_state(const struct nats_conn *conn);
/* NATS_VERSION of the server; 0 before the first connection. */
int nats_conn_version(const struct nats_conn *conn);
/* Name of the server, "" before the first connection. */
const char *nats_conn_server(const struct nats_conn *conn);
/* Its id, which changes with each start; "" before the first connection. */
const char *nats_conn_server_id(const struct nats_conn *conn);
/* Is the server in a cluster? False before the first connection. */
bool nats_conn_is_clustered(const struct nats_conn *conn);
/* The largest message, headers included. */
size_t nats_conn_max_payload(const struct nats_conn *conn);
struct loop *nats_conn_loop(const struct nats_conn *conn);
struct nats_hub *nats_conn_hub(const struct nats_conn *conn);

/* --- events ------------------------------------------------------------------------- */

enum nats_event_kind {
    NATS_EVENT_CONNECTED,    /* first or again; subscriptions are restored */
    NATS_EVENT_DISCONNECTED, /* see `error`; a new attempt follows */
    NATS_EVENT_RETRY,        /* an attempt failed, see `error`; another follows */
    NATS_EVENT_CLOSED,    /* for good; the last event. `error`: NATS_FAULT_CANCELED if requested */
    NATS_EVENT_ERROR,     /* a server error without another handler */
    NATS_EVENT_DENIED,    /* no permission to publish to `subject`; for senders that keep their
                             messages */
    NATS_EVENT_LAME_DUCK, /* the server will shut down */
    NATS_EVENT_WRITABLE,  /* nats_conn_is_busy was true and is now false */
};

struct nats_event {
    enum nats_event_kind kind;
    const struct nats_error *error; /* NULL: none */
    struct str subject;
    bool *handled; /* DENIED: set by the owner of the operation; no further listeners are called */
};

struct nats_listener;
typedef void nats_event_fn(struct nats_listener *listener, const struct nats_event *event);

/* Lives in its owner's struct. Zero does not listen. */
struct nats_listener {
    nats_event_fn *fn;
    struct nats_listener *next, **back;
};

/* Listeners are called in the order of registration. */
void nats_listen(struct nats_conn *conn, struct nats_listener *listener, nats_event_fn *fn);
/* Fine for one that does not listen. */
void nats_unlisten(struct nats_conn *conn, struct nats_listener *listener);

/* --- publishing --------------------------------------------------------------------- */

struct nats_pub {
    struct str subject;
    struct str reply;  /* may be empty */
    struct str header; /* by nats_header_add; may be empty */
    struct str payload;
};

/* Fails for a bad subject, a message that is too large (ERR_LIMIT), a full buffer (ERR_BUSY), and a
 * closed connection (ERR_CANCELED). */
int nats_publish(struct nats_conn *conn, const struct nats_pub *pub, struct err *err);
/* Half of `out_max` is buffered: pause until NATS_EVENT_WRITABLE if possible. */
bool nats_conn_is_busy(struct nats_conn *conn);

/* `error` is NULL on success. */
typedef void nats_done_fn(void *self, const struct nats_error *error);

/* Calls back when the server has processed everything sent before, or the connection broke. */
int nats_flush(struct nats_conn *conn, nats_done_fn *fn, void *self, struct err *err);

/* --- subscribing -------------------------------------------------------------------- */

struct nats_msg {
    struct str subject, reply;
    struct str header; /* the header block; empty: none */
    struct str payload;
};

struct nats_sub;
typedef void nats_msg_fn(void *self, const struct nats_msg *msg);

struct nats_sub_options {
    const char *subject;
    const char *queue; /* NULL: none */
    nats_msg_fn *message;
    nats_done_fn *failed; /* the server refused the subscription; NULL: listeners are called */
    void *self;
};

/* Owned by the caller; freed with the connection at the latest. */
struct nats_sub *nats_sub_new(struct nats_conn *conn, const struct nats_sub_options *options,
                              struct err *err);
/* Unsubscribes: no more messages come. NULL is fine. */
void nats_sub_free(struct nats_sub *sub);

/* Appends a unique subject below the connection's inbox prefix. */
void nats_inbox_print(struct nats_conn *conn, struct buf *out);

#endif
