/*
 * address - the listen address of a server: "127.0.0.1:9091", "[::1]:9091", ":8443" for all
 * addresses.
 *
 *     int fd = address_listen("127.0.0.1:9091", &port, err);
 *
 * Host names are not looked up: a daemon that starts without a network would wait for them.
 * Threads: any.
 */
#ifndef CORE_HTTP_ADDRESS_H
#define CORE_HTTP_ADDRESS_H

#include <stdint.h>

struct arena;
struct err;
struct sockaddr;

/* Can a server listen there? Fails with ERR_INVALID. */
int address_check(const char *text, struct err *err);
/* A listening socket, non-blocking and close-on-exec, which the caller closes; or -1. Port 0 picks
 * a free one. */
int address_listen(const char *text, uint16_t *ret_port, struct err *err);
/* A socket that is connected or connecting, as above; loopback for an address without a host. */
int address_connect(const char *text, struct err *err);

/* The host of an address as text; an IPv4 address inside IPv6 as IPv4. "unknown" for others. */
const char *address_host(struct arena *arena, const struct sockaddr *address);

#endif
