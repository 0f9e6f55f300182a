/* driver_uv WORK COUNT N: the works of loop_work.h on libuv, used plainly. A handle must outlive
 * the turn in which it is closed, so an ear that may be opened again has one on the heap. */
#include <stdint.h>
#include <stdlib.h>
#include <uv.h>

struct ear {
    int fd;
    uv_poll_t *poll;
};

struct bell {
    uv_timer_t timer;
};

static uv_loop_t loop;
static void on_ear(struct ear *ear);
static void on_bell(struct bell *bell);

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    on_ear(poll->data);
}

static void on_timer(uv_timer_t *timer)
{
    on_bell(timer->data);
}

static void ear_open(struct ear *ear, int fd)
{
    ear->fd = fd;
    ear->poll = malloc(sizeof(*ear->poll));
    if (!ear->poll || uv_poll_init(&loop, ear->poll, fd) < 0)
        abort();
    ear->poll->data = ear;
    if (uv_poll_start(ear->poll, UV_READABLE, on_poll) < 0)
        abort();
}

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void ear_close(struct ear *ear)
{
    uv_close((uv_handle_t *)ear->poll, on_closed);
}

/* Milliseconds are all it knows; never early. */
static void bell_set(struct bell *bell, int64_t us)
{
    if (!bell->timer.data) {
        (void)uv_timer_init(&loop, &bell->timer);
        bell->timer.data = bell;
    }
    (void)uv_timer_start(&bell->timer, on_timer, (uint64_t)(us + 999) / 1000, 0);
}

static void bell_clear(struct bell *bell)
{
    (void)uv_timer_stop(&bell->timer);
}

static void loop_open(void)
{
    if (uv_loop_init(&loop) < 0)
        abort();
}

static void loop_go(void)
{
    (void)uv_run(&loop, UV_RUN_DEFAULT);
}

static void loop_halt(void)
{
    uv_stop(&loop);
}

#include "loop_work.h"
