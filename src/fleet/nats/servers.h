/*
 * servers - where a connection may go, in which order, and how long to wait before.
 *
 * The addresses that the user gave are kept; those that servers of a cluster announce come and go.
 * nats_servers_next goes round: first the servers that were not tried since the last success, in
 * their order, which nats_servers_shuffle mixes. Each round that fails doubles the pause, of which
 * a random part is waited, so that a fleet does not come back all at once.
 *
 * Pure: randomness is handed in, time is for the caller. Memory: owns its texts. Threads: one.
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
/* A name of the DNS has at most 253 bytes. */
#define NATS_HOST_MAX 255

struct nats_server {
    char *host;     /* a name, or an IP address without brackets */
    char *tls_name; /* what its certificate must be for; NULL: the host */
    uint16_t port;
    bool tls;        /* the address says tls:// */
    bool discovered; /* not the user's */
    bool lame;       /* it is about to go: try others first */
    bool tried;      /* in this round */
};

struct nats_servers {
    VEC(struct nats_server) list;
    size_t current;  /* the one that nats_servers_next gave last; NATS_SERVERS_MAX: none */
    unsigned rounds; /* that failed since the last success */
};

void nats_servers_init(struct nats_servers *servers);
void nats_servers_done(struct nats_servers *servers);

/* "host", "host:port", "[::1]:port", with nats:// or tls:// in front or without. Twice is once. */
int nats_servers_add(struct nats_servers *servers, struct str address, struct err *err);
/* Mix the order; `random` seeds it. */
void nats_servers_shuffle(struct nats_servers *servers, uint64_t random);
/* What a server knows of its cluster: forget discovered ones that have left it, add what
 * is new. IP addresses get the `tls_name` of the server that told, which may be NULL. */
void nats_servers_discover(struct nats_servers *servers, const struct str *addresses, size_t count,
                           const char *tls_name);

/* The server to try next; there is always one once one was added. `ret_round_over` is set when all
 * have been tried: wait nats_servers_pause before. */
struct nats_server *nats_servers_next(struct nats_servers *servers, bool *ret_round_over);
/* NULL: nats_servers_next was not called yet, or it is gone. */
struct nats_server *nats_servers_current(struct nats_servers *servers);
/* The connection stands. */
void nats_servers_succeeded(struct nats_servers *servers);

/* Up to min * 2^rounds, max at most; any part of it, as `random` has it. */
int64_t nats_servers_pause(const struct nats_servers *servers, int64_t min, int64_t max,
                           uint64_t random);

#endif
