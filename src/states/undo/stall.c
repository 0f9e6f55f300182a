#include "states/undo/stall.h"

#include <stdatomic.h>

#include "core/sys/pool.h"

static atomic_int waits;

bool stall_begin(void)
{
    if (atomic_fetch_add(&waits, 1) >= STALL_MAX) {
        atomic_fetch_sub(&waits, 1);
        return false;
    }
    pool_block_begin();
    return true;
}

void stall_end(bool stalled)
{
    if (!stalled)
        return;
    pool_block_end();
    atomic_fetch_sub(&waits, 1);
}
