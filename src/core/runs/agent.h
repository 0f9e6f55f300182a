/*
 * agent - messages to the agent of this machine, through the socket in its data folder.
 *
 * One packet, one answer. Only root and the agent's user may ask; the agent must run as root or as
 * our own user, or nothing is sent.
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
/* Maximum packet in bytes, in either direction. */
#define AGENT_PACKET_MAX ((size_t)64 << 10)

/* The socket of the agent with this data folder. */
struct unixsock agent_socket(struct arena *arena, const char *data_dir);

/* Send a packet and append the answer, which must come within `wait` nanoseconds. Fails with
 * ERR_NOT_FOUND when no agent listens. */
int agent_exchange(const struct unixsock *socket, struct str packet, int64_t wait,
                   struct buf *answer, struct err *err);

#endif
