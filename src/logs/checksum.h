/*
 * checksum - a number of 64 bits that shows whether bytes are as they were written.
 *
 * This is XXH64: as fast as memory, the same on every machine. It finds accidents,
 * not forgers; who must not be able to guess it keeps the seed to himself.
 *
 * Threads: any.
 */
#ifndef LOGS_CHECKSUM_H
#define LOGS_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t checksum(const void *bytes, size_t n, uint64_t seed);

#endif
