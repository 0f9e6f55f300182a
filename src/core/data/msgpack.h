/*
 * msgpack - values as MessagePack, which is what the fleet speaks.
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
/* A byte can be a value, which takes 32 times as much or more: what is decoded takes so much memory
 * at most, and so much for each byte. */
#define MSGPACK_MEMORY_BASE ((size_t)8 << 20)
#define MSGPACK_MEMORY_EACH 8

/* Append `v`. Fails with ERR_UNSUPPORTED for an object, with ERR_LIMIT when it is too deep or `out`
 * is full; `out` then holds a part. */
int msgpack_encode(struct buf *out, const struct value *v, struct err *err);

/* The same in parts, for those who have no tree: the head of a list or of a map with so many items
 * or pairs, then each of them. The outermost has the depth 0, its parts 1. What does not fit is
 * dropped, and msgpack_end says so. */
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
