/*
 * base32 - bytes as capital letters and digits (RFC 4648), without padding, as
 * NATS keys are written. Decoding is strict: capitals only, no stray bits.
 */
#ifndef CORE_BASE_BASE32_H
#define CORE_BASE_BASE32_H

#include <stddef.h>

#include "core/base/str.h"

struct buf;
struct err;

void base32_encode(struct str bytes, struct buf *out);
/* Append the bytes. Fails with ERR_INVALID, or with ERR_LIMIT when `out` is full; `out` is then
 * unchanged. */
int base32_decode(struct str text, struct buf *out, struct err *err);

#endif
