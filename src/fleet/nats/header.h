/*
 * header - the block in front of a payload: a version line, which may carry a status, and
 * names with values.
 *
 *     NATS/1.0 404 No Messages\r\n
 *     Nats-Pending-Messages: 5\r\n
 *     \r\n
 *
 * Names are compared as they are written. A block that is read may hold anything: lines
 * without a colon are passed over. A block that is written begins with nats_header_add and
 * has no empty line at its end; whoever publishes it adds that. Pure. Threads: any.
 */
#ifndef FLEET_NATS_HEADER_H
#define FLEET_NATS_HEADER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct buf;
struct err;

#define NATS_HEADER_MAX ((size_t)64 << 10)

/* Statuses that the server sends. */
enum nats_header_status {
    NATS_HEADER_HEARTBEAT = 100,
    NATS_HEADER_BAD_REQUEST = 400,
    NATS_HEADER_NOT_FOUND = 404,
    NATS_HEADER_TIMEOUT = 408,
    NATS_HEADER_CONFLICT = 409,
    NATS_HEADER_NO_RESPONDERS = 503,
};

/* 0 when the block has none; `ret_text`, which may be NULL, is then empty. */
int nats_header_status(struct str block, struct str *ret_text);
/* The first value of this name; false when there is none. */
bool nats_header_find(struct str block, const char *name, struct str *ret_value);
/* The next name and value; `at` begins at 0. False at the end. */
bool nats_header_next(struct str block, size_t *at, struct str *ret_name, struct str *ret_value);

/* Append a line, after the version line when `out` is empty. Fails with ERR_INVALID for a name or
 * value that cannot be written, with ERR_LIMIT when `out` is full. */
int nats_header_add(struct buf *out, const char *name, struct str value, struct err *err);

#endif
