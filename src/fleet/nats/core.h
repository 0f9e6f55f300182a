/*
 * core - struct nats_conn itself, for the files that make it up: conn.c (attempts, frames),
 * options.c (its options), complaint.c (errors of the server), sub.c (subscriptions), publish.c
 * (sending), listen.c (listeners).
 */
#ifndef FLEET_NATS_CORE_H
#define FLEET_NATS_CORE_H

#include "core/base/vec.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/hub.h"
#include "fleet/nats/idmap.h"
#include "fleet/nats/info.h"
#include "fleet/nats/parser.h"
#include "fleet/nats/servers.h"
#include "fleet/nats/transport.h"
#include "core/sys/timers.h"

struct addrinfo;
struct nats_resolve;

/* Waits for a PONG. */
struct nats_waiter {
    nats_done_fn *fn; /* NULL: the watchdog */
    void *self;
};

/* A listener may leave while listeners are called, so each walk under way knows the next one. */
struct nats_walk {
    struct nats_listener *next;
    struct nats_walk *outer;
};

enum nats_login_step {
    NATS_LOGIN_NONE,
    NATS_LOGIN_INFO, /* waits for INFO */
    NATS_LOGIN_TLS,  /* INFO received, TLS handshake */
    NATS_LOGIN_PONG, /* CONNECT and PING sent */
};

enum nats_drain_step {
    NATS_DRAIN_NONE,
    NATS_DRAIN_INPUT,  /* waits for pending input */
    NATS_DRAIN_OUTPUT, /* waits for pending output */
};

struct nats_conn {
    struct nats_grave grave;
    struct nats_hub *hub;
    struct nats_options options; /* texts are owned */
    enum nats_conn_state state;
    enum nats_login_step step;
    enum nats_drain_step drain;

    struct nats_servers servers;
    struct nats_resolve *resolve;
    struct addrinfo *addresses,
        *address;       /* addresses of the current server, and the next one to try */
    unsigned attempts;  /* consecutive failures */
    struct timer timer; /* for the attempt, or the pause before it */
    struct timer ping_timer;
    unsigned pings; /* unanswered pings of the watchdog */

    struct nats_transport transport;
    struct nats_parser parser;
    struct buf parked;        /* published without a connection */
    struct nats_error broken; /* the server's error before it closes; code -1: none */
    VEC(struct nats_waiter) waiters;
    size_t waiter_first;

    char *server_name, *server_id;
    char *nonce; /* to be signed, during the login */
    int version;
    size_t max_payload;
    bool is_clustered;

    struct idmap subs; /* by sid */
    uint64_t next_sid;
    struct nats_listener *listeners;
    struct nats_walk *walk;
    struct nats_requests *requests;
    size_t backlogs; /* publishers with more messages than their window */
};

/* conn.c: the connection is unusable; attempts follow. */
void nats_conn_break(struct nats_conn *conn, const struct nats_error *error);

/* options.c */
/* Fails for invalid options; else adds their servers to `servers`. */
int nats_options_check(const struct nats_options *options, struct nats_servers *servers,
                       struct err *err);
/* Copies texts, except those of `servers`; zeros become defaults. */
void nats_options_copy(struct nats_options *to, const struct nats_options *from);
/* Wipes and frees the copies. */
void nats_options_done(struct nats_options *options);

/* complaint.c: reports an error to its subscription, request or listeners. */
void nats_complaint_take(struct nats_conn *conn, struct str text);

/* sub.c */
void nats_sub_dispatch(struct nats_conn *conn, const struct nats_frame *frame);
/* Appends a SUB line for each. */
void nats_subs_print(struct nats_conn *conn, struct buf *out);
/* Appends an UNSUB line for each; the subscriptions stay. */
void nats_subs_print_unsub(struct nats_conn *conn, struct buf *out);
/* The server refused `subject`; false: no operation with it. */
bool nats_subs_deny(struct nats_conn *conn, struct str subject, const struct nats_error *error);
void nats_subs_done(struct nats_conn *conn);

/* publish.c */
void nats_waiters_pong(struct nats_conn *conn);
void nats_waiters_fail(struct nats_conn *conn, const struct nats_error *error);
/* Send a PING; `fn` may be NULL. */
void nats_waiters_ping(struct nats_conn *conn, nats_done_fn *fn, void *self);

/* listen.c */
void nats_tell(struct nats_conn *conn, enum nats_event_kind kind, const struct nats_error *error);
/* True: a listener knew the operation. */
bool nats_tell_denied(struct nats_conn *conn, struct str subject, const struct nats_error *error);

/* request.c */
struct nats_requests *nats_requests_new(struct nats_conn *conn);
void nats_requests_free(struct nats_requests *requests);

#endif
