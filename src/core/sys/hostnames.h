/*
 * hostnames - the names and addresses of this machine, for certificates.
 *
 * Its host name, "localhost", loopback, the addresses of interfaces that are up, and what the
 * caller adds. Nothing is looked up. Memory: the arena. Threads: any.
 */
#ifndef CORE_SYS_HOSTNAMES_H
#define CORE_SYS_HOSTNAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/vec.h"

struct arena;

#define HOSTNAMES_MAX 100

struct hostnames {
    struct arena *arena;
    VEC(const char *) dns;
    VEC(const char *) ips;
};

/* Add a name or address; duplicates, and names beyond the limit, are dropped. */
void hostnames_add(struct hostnames *names, const char *name);
void hostnames_add_own(struct hostnames *names);
/* The host name of this machine; "" when it has none. */
const char *hostnames_own(struct arena *arena);
/* An IPv4 or IPv6 address? */
bool hostnames_is_address(const char *text);
/* Can only this machine itself use this name or address? */
bool hostnames_is_loopback(const char *host);

#endif
