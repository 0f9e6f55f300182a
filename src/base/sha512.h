/*
 * sha512 - fingerprints of 64 bytes.
 *
 *     sha512(bytes, n, digest);                            at once
 *     sha512_init -> sha512_add... -> sha512_end           piece by piece
 *
 * Threads: one at a time for each struct.
 */
#ifndef BASE_SHA512_H
#define BASE_SHA512_H

#include <stddef.h>

#include "base/hex.h"

#define SHA512_SIZE       64
#define SHA512_HEX_SIZE   HEX_SIZE(SHA512_SIZE)
#define SHA512_STATE_SIZE 208

/* Large enough for what the library behind it keeps. */
#define SHA512_STATE_SIZE 208

struct sha512 {
    _Alignas(max_align_t) unsigned char state[SHA512_STATE_SIZE];
};

void sha512_init(struct sha512 *sha);
void sha512_add(struct sha512 *sha, const void *bytes, size_t n);
/* `sha` must be initialised again before it is used again. */
void sha512_end(struct sha512 *sha, unsigned char digest[static SHA512_SIZE]);
void sha512_end_hex(struct sha512 *sha, char text[static SHA512_HEX_SIZE]);

void sha512(const void *bytes, size_t n, unsigned char digest[static SHA512_SIZE]);
/* The digest as lower-case text. */
void sha512_hex(const void *bytes, size_t n, char text[static SHA512_HEX_SIZE]);

#endif
