#include "states/state/pause.h"

#include <poll.h>
#include <time.h>

#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/pool.h"

bool pause_for(const struct cancel *cancel, int64_t nanoseconds)
{
    struct pollfd poll = { .fd = cancel_fd(cancel), .events = POLLIN };
    int64_t until = clock_after(clock_real(), nanoseconds);
    struct timespec room;

    pool_block_begin();
    while (!cancel_is_raised(cancel) && clock_real() < until)
        (void)ppoll(&poll, 1, clock_left(until, &room), NULL);
    pool_block_end();
    return !cancel_is_raised(cancel);
}
