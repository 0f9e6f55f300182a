/*
 * resolve - the addresses of a host name, found by a worker while the loop goes on.
 *
 * Memory: the list of addresses goes to who asked, who frees it with freeaddrinfo. A question that
 * was cancelled is answered to nobody. Threads: the loop's.
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

/* An IP address is answered at once: `ret_list` is set then, and NULL returned. */
struct nats_resolve *nats_resolve_begin(struct nats_hub *hub, const char *host, uint16_t port,
                                        nats_resolve_fn *fn, void *self, struct addrinfo **ret_list,
                                        struct err *err);
void nats_resolve_cancel(struct nats_resolve *resolve);

#endif
