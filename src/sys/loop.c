/*
 * Files are in an epoll set of our own, which libuv watches as one file. So a
 * watch is a plain struct of its owner (libuv's handles must outlive the turn in
 * which they are closed), and the events of a turn are one harvest.
 *
 * Steps run in libuv's prepare phase: after timers, files and closed handles of
 * the turn before, and before the time that it will sleep is computed. The one
 * libuv timer is set there too, once, for the earliest of all deadlines.
 */
#include "sys/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <uv.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define HARVEST_MAX 256

_Static_assert((int)WATCH_READ == EPOLLIN && (int)WATCH_WRITE == EPOLLOUT &&
                   (int)WATCH_PRI == EPOLLPRI && (int)WATCH_ERROR == EPOLLERR &&
                   (int)WATCH_HUP == EPOLLHUP,
               "events are epoll's");

struct step {
    loop_fn *fn;
    void *self;
};

struct signal_watch {
    uv_signal_t handle;
    loop_signal_fn *fn;
    void *self;
};

struct loop {
    uv_loop_t uv;
    uv_poll_t poll;
    uv_timer_t timer;
    uv_prepare_t prepare;
    int epoll;
    struct timers timers;
    int64_t armed; /* the deadline that `timer` is set for */
    struct epoll_event harvest[HARVEST_MAX];
    int harvested;
    VEC(struct step) steps;
    VEC(struct signal_watch *) signals;
};

/* --- turns ---------------------------------------------------------------------------- */

static void on_files(uv_poll_t *poll, int status, int events)
{
    struct loop *loop = poll->data;

    (void)status;
    (void)events;
    loop->harvested = epoll_wait(loop->epoll, loop->harvest, HARVEST_MAX, 0);
    for (int i = 0; i < loop->harvested; i++) {
        struct watch *watch = loop->harvest[i].data.ptr;

        if (watch) /* not stopped by a callback before */
            watch->fn(watch, loop->harvest[i].events);
    }
    loop->harvested = 0;
}

static void on_timer(uv_timer_t *timer)
{
    struct loop *loop = timer->data;

    loop->armed = CLOCK_NEVER;
    (void)timers_run(&loop->timers, clock_now());
}

/* libuv counts milliseconds and cuts its own time off: one more, or a timer would come early and go
 * round once again. */
static void arm(struct loop *loop)
{
    int64_t next = timers_next(&loop->timers), left;

    if (next == loop->armed)
        return;
    loop->armed = next;
    if (next == CLOCK_NEVER) {
        (void)uv_timer_stop(&loop->timer);
        return;
    }
    left = next - clock_now();
    if (left < 0)
        left = 0;
    uv_update_time(&loop->uv);
    (void)uv_timer_start(&loop->timer, on_timer, (uint64_t)(left / CLOCK_MS) + (left > 0 ? 1 : 0),
                         0);
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct loop *loop = prepare->data;

    for (size_t i = 0; i < loop->steps.n; i++)
        loop->steps.p[i].fn(loop->steps.p[i].self);
    arm(loop);
}

/* --- life ----------------------------------------------------------------------------- */

static int start_handles(struct loop *loop, struct err *err)
{
    int rc = uv_poll_init(&loop->uv, &loop->poll, loop->epoll);

    if (rc < 0)
        return err_sys(err, -rc, "watch files");
    (void)uv_timer_init(&loop->uv, &loop->timer);
    (void)uv_prepare_init(&loop->uv, &loop->prepare);
    loop->poll.data = loop->timer.data = loop->prepare.data = loop;
    (void)uv_prepare_start(&loop->prepare, on_prepare);
    rc = uv_poll_start(&loop->poll, UV_READABLE, on_files);
    return rc < 0 ? err_sys(err, -rc, "watch files") : 0;
}

struct loop *loop_new(struct err *err)
{
    struct loop *loop = mem_zalloc(sizeof(*loop));
    int rc = uv_loop_init(&loop->uv);

    loop->armed = CLOCK_NEVER;
    if (rc < 0) {
        free(loop);
        err_sys(err, -rc, "make an event loop");
        return NULL;
    }
    timers_init(&loop->timers);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll < 0)
        err_sys(err, errno, "make an event loop");
    else if (start_handles(loop, err) == 0)
        return loop;
    loop_free(loop);
    return NULL;
}

static void on_walk(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* Handles of others on the same libuv loop are closed too: they could not run any more. */
void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    uv_walk(&loop->uv, on_walk, NULL);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT); /* until all are closed */
    (void)uv_loop_close(&loop->uv);
    VEC_EACH (&loop->signals, watch)
        free(*watch);
    vec_done(&loop->signals);
    vec_done(&loop->steps);
    timers_done(&loop->timers);
    fd_close(&loop->epoll);
    free(loop);
}

void loop_run(struct loop *loop)
{
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *loop)
{
    uv_stop(&loop->uv);
}

void loop_turn(struct loop *loop)
{
    (void)timers_run(&loop->timers, clock_now());
    (void)uv_run(&loop->uv, UV_RUN_NOWAIT);
    on_prepare(&loop->prepare);
}

struct timers *loop_timers(struct loop *loop)
{
    return &loop->timers;
}

struct uv_loop_s *loop_uv(struct loop *loop)
{
    return &loop->uv;
}

/* --- files ---------------------------------------------------------------------------- */

int watch_start(struct watch *watch, struct loop *loop, int fd, uint32_t events, watch_fn *fn,
                struct err *err)
{
    struct epoll_event event = { .events = events, .data.ptr = watch };

    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        return err_sys(err, errno, "watch file %d", fd);
    *watch = (struct watch){ .loop = loop, .fd = fd, .fn = fn };
    return 0;
}

int watch_change(struct watch *watch, uint32_t events, struct err *err)
{
    struct epoll_event event = { .events = events, .data.ptr = watch };

    if (epoll_ctl(watch->loop->epoll, EPOLL_CTL_MOD, watch->fd, &event) < 0)
        return err_sys(err, errno, "watch file %d", watch->fd);
    return 0;
}

void watch_stop(struct watch *watch)
{
    struct loop *loop = watch->loop;

    if (!loop)
        return;
    (void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL); /* closed already: gone as well */
    for (int i = 0; i < loop->harvested; i++)
        if (loop->harvest[i].data.ptr == watch)
            loop->harvest[i].data.ptr = NULL;
    watch->loop = NULL;
}

/* --- steps and signals ---------------------------------------------------------------- */

void loop_on_step(struct loop *loop, loop_fn *fn, void *self)
{
    VEC_PUSH(&loop->steps, (struct step){ fn, self });
}

static void on_signal(uv_signal_t *handle, int signo)
{
    struct signal_watch *watch = handle->data;

    watch->fn(watch->self, signo);
}

int loop_on_signal(struct loop *loop, int signo, loop_signal_fn *fn, void *self, struct err *err)
{
    struct signal_watch *watch = mem_zalloc(sizeof(*watch));
    int rc;

    *watch = (struct signal_watch){ .fn = fn, .self = self };
    (void)uv_signal_init(&loop->uv, &watch->handle);
    watch->handle.data = watch;
    VEC_PUSH(&loop->signals, watch);
    rc = uv_signal_start(&watch->handle, on_signal, signo);
    if (rc < 0)
        return err_sys(err, -rc, "watch signal %d", signo);
    return 0;
}
