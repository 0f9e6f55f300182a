#include "sys/chance.h"

#include <stdlib.h>
#include <sys/random.h>

uint64_t chance_number(void)
{
    uint64_t number;

    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        abort(); /* eight bytes are never cut short */
    return number;
}
