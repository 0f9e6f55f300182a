/*
 * sockets - the sockets of the machine, as /proc/net shows them.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_NETWORK_SOCKETS_H
#define STATES_MODULES_NETWORK_SOCKETS_H

#include <netinet/in.h>
#include <stdint.h>

#include "core/base/vec.h"

struct err;
struct state_run;

#define SOCKETS_ESTABLISHED 1 /* a state, as the kernel counts them from 1 */
#define SOCKETS_STATES      12

struct sockets_end {
    char address[INET6_ADDRSTRLEN];
    int64_t port;
};

struct sockets_row {
    struct sockets_end local, remote;
    int64_t state, sending, receiving, uid, inode;
};

struct sockets {
    VEC(struct sockets_row) list;
};

/* Lists sockets of "tcp", "tcp6", "udp" or "udp6"; none if the kernel lacks the protocol. */
int sockets_read(struct state_run *run, const char *protocol, struct sockets *ret, struct err *err);

#endif
