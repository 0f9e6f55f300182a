/* driver_loop WORK COUNT N: the works of loop_work.h on src/core/sys/loop.h. */
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

struct ear {
    int fd;
    struct watch watch;
};

struct bell {
    struct timer timer;
};

static struct loop *loop;
static void on_ear(struct ear *ear);
static void on_bell(struct bell *bell);

static void on_watch(struct watch *watch, uint32_t events)
{
    (void)events;
    on_ear(container_of(watch, struct ear, watch));
}

static void on_timer(struct timer *timer)
{
    on_bell(container_of(timer, struct bell, timer));
}

static void ear_open(struct ear *ear, int fd)
{
    struct err err;

    ear->fd = fd;
    if (watch_start(&ear->watch, loop, fd, WATCH_READ, on_watch, &err) < 0)
        abort();
}

static void ear_close(struct ear *ear)
{
    watch_stop(&ear->watch);
}

static void bell_set(struct bell *bell, int64_t us)
{
    timer_set(loop_timers(loop), &bell->timer, clock_now() + us * CLOCK_US, on_timer);
}

static void bell_clear(struct bell *bell)
{
    timer_clear(loop_timers(loop), &bell->timer);
}

static void loop_open(void)
{
    struct err err;

    loop = loop_new(&err);
    if (!loop)
        abort();
}

static void loop_go(void)
{
    loop_run(loop);
}

static void loop_halt(void)
{
    loop_stop(loop);
}

#include "loop_work.h"
