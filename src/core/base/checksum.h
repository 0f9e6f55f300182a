/*
 * checksum - a number of 64 bits that shows whether bytes are as they were written.
 *
 * This is XXH64: as fast as memory, the same on every machine. It finds accidents,
 * not forgers; to keep others from guessing it, keep the seed secret.
 *
 * Threads: any.
 */
#ifndef CORE_BASE_CHECKSUM_H
#define CORE_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t checksum(const void *bytes, size_t n, uint64_t seed);

#endif
