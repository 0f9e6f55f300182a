#include "fleet/bus/bus_time.h"

#include <stdatomic.h>

#include "core/sys/clock.h"

/* The servers' timestamp minus clock_now; 0: not measured. */
static _Atomic int64_t offset;
/* When it was measured, and how exactly. */
static _Atomic int64_t looked_at, blur;

int64_t bus_time(void)
{
    const int64_t known = atomic_load(&offset);

    return known ? clock_now() + known : clock_wall();
}

int64_t bus_time_seconds(void)
{
    return bus_time() / CLOCK_SECOND;
}

struct value_time bus_time_value(void)
{
    const int64_t now = bus_time();

    return (struct value_time){ now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) };
}

void bus_time_note(int64_t sent, int64_t stored, int64_t stamp)
{
    const int64_t took = stored - sent;

    if (atomic_load(&offset) && took > BUS_TIME_BLUR_NS && took > atomic_load(&blur) &&
        stored - atomic_load(&looked_at) < BUS_TIME_AGE_NS)
        return;
    atomic_store(&offset, stamp - (sent + took / 2));
    atomic_store(&looked_at, stored);
    atomic_store(&blur, took);
}

int64_t bus_time_skew(void)
{
    return atomic_load(&offset) ? clock_wall() - bus_time() : 0;
}

void bus_time_forget(void)
{
    atomic_store(&offset, 0);
}
