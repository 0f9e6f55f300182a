/*
 * agent - what programs of this machine say to its agent, through the socket in its data folder.
 *
 * One packet, one answer. Root and the user of the agent may; the agent itself must belong to root
 * or to us, or nothing is sent.
 *
 * Memory: paths are borrowed. Threads: any; agent_exchange blocks.
 */
#ifndef CORE_RUNS_AGENT_H
#define CORE_RUNS_AGENT_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/sys/unixsock.h"

struct arena;
struct buf;
struct err;

#define AGENT_SOCKET "event.sock"
/* Bytes of a packet, in either direction. */
#define AGENT_PACKET_MAX ((size_t)64 << 10)

/* The socket of the agent with this data folder. */
struct unixsock agent_socket(struct arena *arena, const char *data_dir);

/* Send a packet and append the answer, which has `wait` nanoseconds. Fails with ERR_NOT_FOUND when
 * no agent listens. */
int agent_exchange(const struct unixsock *socket, struct str packet, int64_t wait,
                   struct buf *answer, struct err *err);

#endif
