/*
 * port_owner - which process listens on a TCP port of this machine, and which systemd unit it
 * belongs to.
 *
 * Read from /proc: processes of other users are visible to root only. Memory: the arena. Threads:
 * any.
 */
#ifndef CORE_SYS_PORT_OWNER_H
#define CORE_SYS_PORT_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

struct arena;

struct port_owner {
    int64_t pid;
    const char *name; /* as the kernel has it, 15 bytes at most */
    const char *unit; /* "nats-server.service"; NULL: none */
};

/* False: nothing listens there, or it is not visible. */
bool port_owner_find(struct arena *arena, uint16_t port, struct port_owner *ret_owner);

/* The innermost service in the text of /proc/PID/cgroup; a NULL view when there is none. */
struct str port_owner_unit(struct str cgroups);
/* The inode of the socket that listens on `port` in the text of /proc/net/tcp or tcp6; 0: none. */
uint64_t port_owner_socket(struct str table, uint16_t port);

#endif
