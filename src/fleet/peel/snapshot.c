#include "fleet/peel/snapshot.h"

#include <stdlib.h>

#include "core/base/mem.h"

struct snapshot *snapshot_new(void)
{
    static _Atomic(uint64_t) versions;
    struct snapshot *snapshot = mem_zalloc(sizeof(*snapshot));

    snapshot->version = atomic_fetch_add(&versions, 1) + 1;
    atomic_init(&snapshot->holders, 1);
    snapshot->value = value_map(value_map_new(&snapshot->arena, 0));
    return snapshot;
}

struct snapshot *snapshot_hold(struct snapshot *snapshot)
{
    atomic_fetch_add(&snapshot->holders, 1);
    return snapshot;
}

void snapshot_drop(struct snapshot *snapshot)
{
    if (!snapshot || atomic_fetch_sub(&snapshot->holders, 1) > 1)
        return;
    arena_done(&snapshot->arena);
    free(snapshot);
}
