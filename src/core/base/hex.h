/*
 * hex - bytes as pairs of hexadecimal digits. Written in lower case, read in any.
 */
#ifndef CORE_BASE_HEX_H
#define CORE_BASE_HEX_H

#include <stddef.h>

#include "core/base/str.h"

struct buf;
struct err;

/* Room for the text of `n` bytes, with its NUL. */
#define HEX_SIZE(n) (2 * (size_t)(n) + 1)

/* Into HEX_SIZE(n) bytes at `text`. */
void hex_write(const void *bytes, size_t n, char *text);
void hex_encode(struct str bytes, struct buf *out);
/* Append the bytes. Fails with ERR_INVALID, or with ERR_LIMIT when `out` is full; `out` is then
 * unchanged. */
int hex_decode(struct str text, struct buf *out, struct err *err);

#endif
