#include "core/base/stack.h"

#include <sys/resource.h>

/* For a main thread without a limit. */
#define UNLIMITED ((size_t)8 << 20)

_Thread_local uintptr_t stack_floor;

void stack_begin(size_t size)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const size_t usable = size - (size / 2 < STACK_RESERVE ? size / 2 : STACK_RESERVE);

    stack_floor = usable < here ? here - usable : 1;
}

void stack_find(void)
{
    struct rlimit limit;
    const bool known = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < UNLIMITED;

    stack_begin(known ? (size_t)limit.rlim_cur : UNLIMITED);
}
