/*
 * checksum - a 64-bit number that detects damaged bytes.
 *
 * This is XXH64: as fast as memory, the same on every machine. It detects accidents, not forgery;
 * keep the seed secret to keep others from guessing it.
 *
 * Threads: any.
 */
#ifndef CORE_BASE_CHECKSUM_H
#define CORE_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t checksum(const void *bytes, size_t n, uint64_t seed);

#endif
