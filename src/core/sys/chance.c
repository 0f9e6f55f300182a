#include "core/sys/chance.h"

#include <stdlib.h>
#include <sys/random.h>

/* The kernel never returns fewer bytes up to this size. */
#define WHOLE_MAX 256

void chance_bytes(void *bytes, size_t n)
{
    char *at = bytes;

    while (n > 0) {
        size_t part = n < WHOLE_MAX ? n : WHOLE_MAX;

        if (getrandom(at, part, 0) != (ssize_t)part)
            abort();
        at += part;
        n -= part;
    }
}

uint64_t chance_number(void)
{
    uint64_t number;

    chance_bytes(&number, sizeof(number));
    return number;
}
