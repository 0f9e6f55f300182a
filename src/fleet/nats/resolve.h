/*
 * resolve - resolves a host name in a worker.
 *
 * Memory: the caller frees the list of addresses with freeaddrinfo. A canceled lookup does not call
 * back. Threads: the loop's.
 */
#ifndef FLEET_NATS_RESOLVE_H
#define FLEET_NATS_RESOLVE_H

#include <stdint.h>

struct addrinfo;
struct err;
struct nats_hub;
struct nats_resolve;

/* `error` is NULL, or `list` is. */
typedef void nats_resolve_fn(void *self, struct addrinfo *list, const char *error);

/* An IP address is resolved at once: sets `ret_list` and returns NULL. */
struct nats_resolve *nats_resolve_begin(struct nats_hub *hub, const char *host, uint16_t port,
                                        nats_resolve_fn *fn, void *self, struct addrinfo **ret_list,
                                        struct err *err);
void nats_resolve_cancel(struct nats_resolve *resolve);

#endif
