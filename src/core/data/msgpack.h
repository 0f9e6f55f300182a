/*
 * msgpack - values as MessagePack, the format of fleet messages.
 *
 * Every kind of value but objects has a form: a time is the timestamp extension
 * (-1). Encoding is deterministic: the smallest form of each integer (unless it is
 * marked VALUE_WIDE or VALUE_UNSIGNED), maps in their order; a text that is not UTF-8 goes as
 * bytes. Decoding trusts nothing: counts are compared with the bytes that are left before anything
 * is allocated; text must be UTF-8; map keys are scalars and unique; other extensions, integers
 * above INT64_MAX and bytes after the end are errors, which name the offset.
 *
 * Flags and places do not travel.
 *
 * Memory: decoded values live in the arena and share nothing with the bytes.
 * Threads: any.
 */
#ifndef CORE_DATA_MSGPACK_H
#define CORE_DATA_MSGPACK_H

#include "core/base/str.h"

struct arena;
struct buf;
struct err;
struct value;

#define MSGPACK_SIZE_MAX  ((size_t)64 << 20)
#define MSGPACK_DEPTH_MAX 128
/* A one-byte value takes 32 times its size in memory, or more. Decoded values take at most this
 * much memory, and this much for each byte. */
#define MSGPACK_MEMORY_BASE ((size_t)8 << 20)
#define MSGPACK_MEMORY_EACH 8

/* Append `v`. Fails with ERR_UNSUPPORTED for an object, with ERR_LIMIT when it is too deep or `out`
 * is full; `out` then holds a part. */
int msgpack_encode(struct buf *out, const struct value *v, struct err *err);

/* The same in parts, without a tree: the head of a list or map with its number of items or pairs,
 * then each of them. The outermost has depth 0, its parts depth 1. Parts that do not fit are
 * dropped, and msgpack_end reports that. */
int msgpack_begin_list(struct buf *out, size_t count, unsigned depth, struct err *err);
int msgpack_begin_map(struct buf *out, size_t count, unsigned depth, struct err *err);
int msgpack_encode_at(struct buf *out, const struct value *v, unsigned depth, struct err *err);
/* A key of a table in the program: UTF-8, of at most 255 bytes. */
void msgpack_add_key(struct buf *out, const char *key);
int msgpack_end(const struct buf *out, struct err *err);

/* Read exactly one value from all of `bytes`. Fails with ERR_INVALID or ERR_LIMIT. */
int msgpack_decode(struct arena *arena, struct str bytes, struct value *ret, struct err *err);
/* Read one value from the front and ignore what follows. */
int msgpack_decode_front(struct arena *arena, struct str bytes, struct value *ret, struct err *err);

#endif
