/* What the agents of driver_fleet.c and those of driver_floor.c have in common. */
#ifndef BENCH_FLEET_WORK_H
#define BENCH_FLEET_WORK_H

#include <stdint.h>

#include "core/base/arena.h"

/* A job that is not done then never will be, in nanoseconds. */
#define FLEET_WORK_WAIT (INT64_C(300) * 1000000000)
/* For returns that come after the end of their job was said. */
#define FLEET_WORK_GRACE (INT64_C(60) * 1000000000)

/* Names of agents: those with the code of src/fleet/peel, and those that only send the messages.
 * Both are connected at once, so that they can be measured in turn. */
#define FLEET_WORK_REAL "peel"
#define FLEET_WORK_BARE "bare"

static inline const char *fleet_work_name(struct arena *arena, const char *prefix, uint64_t number)
{
    return arena_printf(arena, "%s-%06llu", prefix, (unsigned long long)number);
}

#endif
