/*
 * frame - where one message ends and the next begins.
 *
 *     | length 4, big-endian | payload |
 *
 * The length counts the payload alone. It is compared with the limit of the reader
 * before anything is kept, so that nobody makes us wait for four gigabytes.
 *
 *     start = frame_begin(&out); ... append the payload ...; frame_end(&out, start, &err)
 *
 * Pure. Memory: views of the bytes given. Threads: any.
 */
#ifndef CONTROL_FRAME_H
#define CONTROL_FRAME_H

#include <stddef.h>

#include "base/str.h"

struct buf;
struct err;

#define FRAME_HEAD 4
/* Bytes of one payload, in either direction. */
#define FRAME_MAX ((size_t)16 << 20)

/* Room for the length; returns where the frame begins. */
size_t frame_begin(struct buf *out);
/* Everything since is the payload. Fails with ERR_LIMIT above FRAME_MAX, or when `out` is full. */
int frame_end(struct buf *out, size_t start, struct err *err);

/* The first frame of `bytes`. Not whole yet: `ret_payload` is a NULL view. Its end is
 * FRAME_HEAD + ret_payload->n bytes from the start. Fails with ERR_LIMIT above FRAME_MAX. */
int frame_find(struct str bytes, struct str *ret_payload, struct err *err);

#endif
