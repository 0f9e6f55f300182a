/*
 * chance - random numbers from the kernel.
 */
#ifndef CORE_SYS_CHANCE_H
#define CORE_SYS_CHANCE_H

#include <stddef.h>
#include <stdint.h>

/* Any number; blocks only until the kernel's generator is initialised after boot. */
uint64_t chance_number(void);
/* Bytes for keys. */
void chance_bytes(void *bytes, size_t n);

#endif
