/*
 * servers - the servers of a connection: their order, and the pause before each attempt.
 *
 * Configured addresses are kept; those announced by a cluster come and go. nats_servers_next goes
 * round: first the servers not tried since the last success, in their order, which
 * nats_servers_shuffle mixes. Each failed round doubles the pause, of which a random part is
 * waited, so that a fleet does not reconnect all at once.
 *
 * Pure: the caller supplies randomness and waits. Memory: owns its texts. Threads: one.
 */
#ifndef FLEET_NATS_SERVERS_H
#define FLEET_NATS_SERVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"

struct err;

#define NATS_SERVERS_MAX  256
#define NATS_PORT_DEFAULT 4222
/* A DNS name has at most 253 bytes. */
#define NATS_HOST_MAX 255

struct nats_server {
    char *host;     /* a name, or an IP address without brackets */
    char *tls_name; /* name in its certificate; NULL: the host */
    uint16_t port;
    bool tls;        /* the address begins with tls:// */
    bool discovered; /* not configured */
    bool lame;       /* shutting down: try others first */
    bool tried;      /* in this round */
};

struct nats_servers {
    VEC(struct nats_server) list;
    size_t current;  /* the last result of nats_servers_next; NATS_SERVERS_MAX: none */
    unsigned rounds; /* failed rounds since the last success */
};

void nats_servers_init(struct nats_servers *servers);
void nats_servers_done(struct nats_servers *servers);

/* "host", "host:port", "[::1]:port", with or without nats:// or tls://. Ignores duplicates. */
int nats_servers_add(struct nats_servers *servers, struct str address, struct err *err);
/* Shuffles the order; `random` is the seed. */
void nats_servers_shuffle(struct nats_servers *servers, uint64_t random);
/* Updates the cluster's servers: removes discovered ones that have left, adds new ones. IP
 * addresses get the `tls_name` of the announcing server, which may be NULL. */
void nats_servers_discover(struct nats_servers *servers, const struct str *addresses, size_t count,
                           const char *tls_name);

/* The server to try next; never NULL after the first add. `ret_round_over` is set when all have
 * been tried: wait nats_servers_pause first. */
struct nats_server *nats_servers_next(struct nats_servers *servers, bool *ret_round_over);
/* NULL: nats_servers_next was not called yet, or the server was removed. */
struct nats_server *nats_servers_current(struct nats_servers *servers);
/* Connected. */
void nats_servers_succeeded(struct nats_servers *servers);

/* A random part of min * 2^rounds, at most max. */
int64_t nats_servers_pause(const struct nats_servers *servers, int64_t min, int64_t max,
                           uint64_t random);

#endif
