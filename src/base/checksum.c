#include "base/checksum.h"

#include <xxhash.h>

uint64_t checksum(const void *bytes, size_t n, uint64_t seed)
{
    return XXH64(bytes, n, seed);
}
