/*
 * blocks - a message in blocks of 64 bytes, with the padding that MD5 and SHA-1 share.
 */
#ifndef BASE_BLOCKS_H
#define BASE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCKS_SIZE 64

/* Gets each block, in order; `self` is the state of the digest. */
typedef void blocks_fn(uint32_t *self, const unsigned char block[static BLOCKS_SIZE]);

/* All blocks of the message, the last ones padded with a one, zeroes and the number of bits, which
 * is written with its highest byte first when `big`. */
void blocks_each(const void *bytes, size_t n, bool big, blocks_fn *fn, uint32_t *self);

#endif
