#include "core/sys/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

static atomic_bool fake;
static _Atomic int64_t fake_now, fake_wall;

static int64_t read_system_clock(clockid_t id)
{
    struct timespec t = { 0 };

    (void)clock_gettime(id, &t); /* cannot fail for these */
    return (int64_t)t.tv_sec * CLOCK_SECOND + t.tv_nsec;
}

int64_t clock_real(void)
{
    return read_system_clock(CLOCK_MONOTONIC);
}

int64_t clock_thread(void)
{
    return read_system_clock(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_now(void)
{
    return atomic_load(&fake) ? atomic_load(&fake_now) : clock_real();
}

int64_t clock_wall(void)
{
    return atomic_load(&fake) ? atomic_load(&fake_wall) : read_system_clock(CLOCK_REALTIME);
}

int64_t clock_after(int64_t now, int64_t ns)
{
    int64_t sum;

    return __builtin_add_overflow(now, ns, &sum) ? CLOCK_NEVER : sum;
}

const struct timespec *clock_left(int64_t deadline, struct timespec *room)
{
    int64_t left;

    if (deadline == CLOCK_NEVER)
        return NULL;
    left = deadline - clock_real();
    if (left < 0)
        left = 0;
    room->tv_sec = (time_t)(left / CLOCK_SECOND);
    room->tv_nsec = (long)(left % CLOCK_SECOND);
    return room;
}

void clock_fake(int64_t now, int64_t wall)
{
    atomic_store(&fake_now, now);
    atomic_store(&fake_wall, wall);
    atomic_store(&fake, true);
}

void clock_turn(int64_t ns)
{
    (void)atomic_fetch_add(&fake_now, ns);
    (void)atomic_fetch_add(&fake_wall, ns);
}

void clock_restore(void)
{
    atomic_store(&fake, false);
}
