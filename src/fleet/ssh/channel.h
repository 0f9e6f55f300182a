/*
 * ssh_channel - messages over a pair of pipes, with timeouts.
 *
 * Reads standard error of the other side, too, and keeps its end. A wait fails with ERR_TIMEOUT
 * after `idle` nanoseconds without input or output, or at the deadline; with ERR_CANCELED when
 * canceled; with ERR_NOT_FOUND when the other side has closed.
 *
 *     ssh_channel_init -> { ssh_channel_line, ssh_channel_take, ssh_channel_send }...
 *     -> ssh_channel_done
 *
 * SIGPIPE must be ignored. Memory: ssh_channel_done; messages are in the arena of the call.
 * Threads: one at a time.
 */
#ifndef FLEET_SSH_CHANNEL_H
#define FLEET_SSH_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/str.h"
#include "fleet/ssh/message.h"

struct arena;
struct cancel;

/* Bytes kept of standard error. */
#define SSH_CHANNEL_WORDS_MAX ((size_t)64 << 10)

struct ssh_channel {
    int in, out, err; /* read, write, read; -1: none. They stay the caller's */
    const struct cancel *cancel;
    int64_t deadline, idle; /* of clock_real, and nanoseconds */
    struct buf ahead;       /* read ahead */
    struct buf words;       /* end of standard error */
};

/* The three become non-blocking. */
void ssh_channel_init(struct ssh_channel *channel, int in, int out, int err);
void ssh_channel_done(struct ssh_channel *channel);

/* One line, without its end; a longer one fails with ERR_LIMIT. */
int ssh_channel_line(struct ssh_channel *channel, size_t max, struct arena *arena,
                     struct str *ret_line, struct err *err);
/* Reads the next message, which must be of this kind and have at most `max` bytes. */
int ssh_channel_take(struct ssh_channel *channel, enum ssh_message kind, size_t max,
                     struct arena *arena, struct str *ret_payload, struct err *err);
int ssh_channel_send(struct ssh_channel *channel, enum ssh_message kind, struct str payload,
                     struct err *err);
/* Bytes without a frame. */
int ssh_channel_write(struct ssh_channel *channel, struct str bytes, struct err *err);
/* Read the rest of standard error, for a short while. */
void ssh_channel_drain(struct ssh_channel *channel, int64_t wait);

#endif
