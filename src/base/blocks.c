#include "base/blocks.h"

#include <string.h>

#define LENGTH_SIZE 8

void blocks_each(const void *bytes, size_t n, bool big, blocks_fn *fn, uint32_t *self)
{
    const unsigned char *p = bytes;
    const uint64_t bits = (uint64_t)n * 8;
    unsigned char last[2 * BLOCKS_SIZE] = { 0 };
    const size_t rest = n % BLOCKS_SIZE;
    const size_t size = rest + 1 + LENGTH_SIZE <= BLOCKS_SIZE ? BLOCKS_SIZE : 2 * BLOCKS_SIZE;

    for (size_t i = 0; i + BLOCKS_SIZE <= n; i += BLOCKS_SIZE)
        fn(self, p + i);
    if (rest > 0)
        memcpy(last, p + (n - rest), rest);
    last[rest] = 0x80;
    for (unsigned i = 0; i < LENGTH_SIZE; i++)
        last[size - LENGTH_SIZE + i] =
            (unsigned char)(bits >> (8 * (big ? LENGTH_SIZE - 1 - i : i)));
    for (size_t i = 0; i < size; i += BLOCKS_SIZE)
        fn(self, last + i);
}
