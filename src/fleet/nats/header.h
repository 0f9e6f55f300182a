/*
 * header - the header block of a message: a version line, perhaps with a status, and names with
 * values.
 *
 *     NATS/1.0 404 No Messages\r\n
 *     Nats-Pending-Messages: 5\r\n
 *     \r\n
 *
 * Names are case-sensitive. The reader accepts any block and skips lines without a colon. A new
 * block begins with nats_header_add and has no empty line at its end; publishing adds that. Pure.
 * Threads: any.
 */
#ifndef FLEET_NATS_HEADER_H
#define FLEET_NATS_HEADER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct buf;
struct err;

#define NATS_HEADER_MAX ((size_t)64 << 10)

/* Statuses sent by the server. */
enum nats_header_status {
    NATS_HEADER_HEARTBEAT = 100,
    NATS_HEADER_BAD_REQUEST = 400,
    NATS_HEADER_NOT_FOUND = 404,
    NATS_HEADER_TIMEOUT = 408,
    NATS_HEADER_CONFLICT = 409,
    NATS_HEADER_NO_RESPONDERS = 503,
};

/* 0: no status; then `ret_text`, which may be NULL, is empty. */
int nats_header_status(struct str block, struct str *ret_text);
/* The first value of this name; false: none. */
bool nats_header_find(struct str block, const char *name, struct str *ret_value);
/* The next name and value; `at` begins at 0. False at the end. */
bool nats_header_next(struct str block, size_t *at, struct str *ret_name, struct str *ret_value);

/* Appends a line, after the version line if `out` is empty. Fails with ERR_INVALID for an invalid
 * name or value, with ERR_LIMIT if `out` is full. */
int nats_header_add(struct buf *out, const char *name, struct str value, struct err *err);

#endif
