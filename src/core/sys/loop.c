/*
 * One epoll set, a heap of timers and a signalfd. A watch is a plain struct of its owner, to which
 * the set points; so stopping one removes its event from the batch of this turn, and its memory
 * may be freed.
 *
 * A turn: the steps, the wait, the files that are ready, the timers that are due. The wait is
 * bounded by the next deadline, to the nanosecond. A busy file cannot keep the others waiting: the
 * kernel puts each file that it has reported at the end of its queue, and timers and steps have
 * their turn between two harvests.
 *
 * Signals that the loop handles are blocked in its thread, and read from the signalfd as a file
 * among the others. Children start with nothing blocked (core/sys/child.c).
 */
#include "core/sys/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"

#define HARVEST_MAX 256
/* Signals to read at once. */
#define SIGNALS_MAX 16
/* Reported to every watch. */
#define ALWAYS ((uint32_t)WATCH_ERROR | (uint32_t)WATCH_HUP)

_Static_assert((int)WATCH_READ == EPOLLIN && (int)WATCH_WRITE == EPOLLOUT &&
                   (int)WATCH_PRI == EPOLLPRI && (int)WATCH_ERROR == EPOLLERR &&
                   (int)WATCH_HUP == EPOLLHUP,
               "events are epoll's");

struct step {
    loop_fn *fn;
    void *self;
};

struct signal_watch {
    int signo;
    loop_signal_fn *fn;
    void *self;
};

struct loop {
    int epoll;
    bool stopped;
    bool coarse; /* see wait_coarsely */
    struct timers timers;
    struct epoll_event harvest[HARVEST_MAX];
    int harvested;
    VEC(struct step) steps;
    VEC(struct signal_watch) signals;
    sigset_t handled; /* the signals of `signals` */
    sigset_t blocked; /* those that were not blocked before */
    struct watch signal_file;
};

/* --- life ----------------------------------------------------------------------------- */

struct loop *loop_new(struct err *err)
{
    struct loop *loop;
    int epoll = epoll_create1(EPOLL_CLOEXEC);

    if (epoll < 0) {
        err_sys(err, errno, "make an event loop");
        return NULL;
    }
    loop = mem_zalloc(sizeof(*loop));
    loop->epoll = epoll;
    timers_init(&loop->timers);
    (void)sigemptyset(&loop->handled);
    (void)sigemptyset(&loop->blocked);
    return loop;
}

/* Pending signals were meant for the loop: they must not end the process now. */
static void drop_signals(struct loop *loop)
{
    struct signalfd_siginfo pending[SIGNALS_MAX];
    int fd = loop->signal_file.fd;

    if (!loop->signal_file.loop)
        return;
    while (read(fd, pending, sizeof(pending)) > 0)
        ;
    watch_stop(&loop->signal_file);
    fd_close(&fd);
    (void)pthread_sigmask(SIG_UNBLOCK, &loop->blocked, NULL);
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    drop_signals(loop);
    vec_done(&loop->signals);
    vec_done(&loop->steps);
    timers_done(&loop->timers);
    fd_close(&loop->epoll);
    free(loop);
}

struct timers *loop_timers(struct loop *loop)
{
    return &loop->timers;
}

/* --- turns ---------------------------------------------------------------------------- */

static void run_steps(struct loop *loop)
{
    for (size_t i = 0; i < loop->steps.n; i++)
        loop->steps.p[i].fn(loop->steps.p[i].self);
}

/* How long to wait for files; NULL is forever. */
static const struct timespec *find_loop_wait(const struct loop *loop, struct timespec *room)
{
    int64_t next = timers_next(&loop->timers), left = 0;

    if (!loop->stopped && next == CLOCK_NEVER)
        return NULL;
    if (!loop->stopped)
        left = next - clock_now(); /* handled once: the loop continues */
    if (left < 0)
        left = 0;
    *room = (struct timespec){ .tv_sec = left / CLOCK_SECOND, .tv_nsec = left % CLOCK_SECOND };
    return room;
}

/* For kernels before 5.11 and filters of system calls that do not know the finer call:
 * milliseconds, rounded up, since a timer that fires early would cause an idle
 * turn. */
static int wait_coarsely(struct loop *loop, const struct timespec *wait)
{
    int64_t ms = -1;

    if (wait)
        ms = wait->tv_sec * 1000 + (wait->tv_nsec + CLOCK_MS - 1) / CLOCK_MS;
    return epoll_wait(loop->epoll, loop->harvest, HARVEST_MAX, (int)(ms < INT_MAX ? ms : INT_MAX));
}

static int wait_for_loop_files(struct loop *loop, const struct timespec *wait)
{
    int n = -1;

    if (!loop->coarse) {
        n = epoll_pwait2(loop->epoll, loop->harvest, HARVEST_MAX, wait, NULL);
        loop->coarse = n < 0 && (errno == ENOSYS || errno == EPERM);
    }
    if (loop->coarse)
        n = wait_coarsely(loop, wait);
    assert(n >= 0 || errno == EINTR);
    return n;
}

/* An interrupted wait is a turn without files. */
static void dispatch_ready_files(struct loop *loop, const struct timespec *wait)
{
    loop->harvested = wait_for_loop_files(loop, wait);
    for (int i = 0; i < loop->harvested; i++) {
        struct watch *watch = loop->harvest[i].data.ptr;
        uint32_t events = watch ? loop->harvest[i].events & (watch->events | ALWAYS) : 0;

        if (events) /* not stopped, and not changed, by a callback before */
            watch->fn(watch, events);
    }
    loop->harvested = 0;
}

void loop_run(struct loop *loop)
{
    struct timespec room;

    while (!loop->stopped) {
        run_steps(loop);
        dispatch_ready_files(loop, find_loop_wait(loop, &room));
        (void)timers_run(&loop->timers, clock_now());
    }
    loop->stopped = false;
}

void loop_stop(struct loop *loop)
{
    loop->stopped = true;
}

void loop_turn(struct loop *loop)
{
    const struct timespec now = { 0 };

    (void)timers_run(&loop->timers, clock_now());
    run_steps(loop);
    dispatch_ready_files(loop, &now);
    run_steps(loop);
}

/* --- files ---------------------------------------------------------------------------- */

int watch_start(struct watch *watch, struct loop *loop, int fd, uint32_t events, watch_fn *fn,
                struct err *err)
{
    struct epoll_event event = { .events = events, .data.ptr = watch };

    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        return err_sys(err, errno, "watch file %d", fd);
    *watch = (struct watch){ .loop = loop, .fd = fd, .events = events, .fn = fn };
    return 0;
}

int watch_change(struct watch *watch, uint32_t events, struct err *err)
{
    struct epoll_event event = { .events = events, .data.ptr = watch };

    if (events == watch->events)
        return 0;
    if (epoll_ctl(watch->loop->epoll, EPOLL_CTL_MOD, watch->fd, &event) < 0)
        return err_sys(err, errno, "watch file %d", watch->fd);
    watch->events = events;
    return 0;
}

void watch_stop(struct watch *watch)
{
    struct loop *loop = watch->loop;

    if (!loop)
        return;
    (void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL); /* already closed */
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

static void on_signals(struct watch *watch, uint32_t events)
{
    struct loop *loop = container_of(watch, struct loop, signal_file);
    struct signalfd_siginfo arrived[SIGNALS_MAX];
    ssize_t size = read(watch->fd, arrived, sizeof(arrived));

    (void)events;
    for (size_t i = 0; size > 0 && i < (size_t)size / sizeof(arrived[0]); i++)
        for (size_t k = 0; k < loop->signals.n; k++)
            if (loop->signals.p[k].signo == (int)arrived[i].ssi_signo)
                loop->signals.p[k].fn(loop->signals.p[k].self, loop->signals.p[k].signo);
}

/* The first call makes the file, the others add to what it reads. */
static int read_signals(struct loop *loop, const sigset_t *set, struct err *err)
{
    bool is_first = !loop->signal_file.loop;
    int fd = signalfd(is_first ? -1 : loop->signal_file.fd, set, SFD_CLOEXEC | SFD_NONBLOCK);

    if (fd < 0)
        return err_sys(err, errno, "watch signals");
    if (!is_first || watch_start(&loop->signal_file, loop, fd, WATCH_READ, on_signals, err) == 0)
        return 0;
    fd_close(&fd);
    return -1;
}

/* An ignored SIGCHLD would leave no children to wait for: reset it to the default, whose action a
 * blocked signal never takes. */
int loop_on_signal(struct loop *loop, int signo, loop_signal_fn *fn, void *self, struct err *err)
{
    const struct sigaction usual = { .sa_handler = SIG_DFL };
    sigset_t set = loop->handled, one, before;

    (void)sigemptyset(&one);
    if (sigaddset(&one, signo) < 0 || sigaction(signo, &usual, NULL) < 0)
        return err_sys(err, errno, "watch signal %d", signo);
    (void)sigaddset(&set, signo);
    if (read_signals(loop, &set, err) < 0)
        return -1;
    (void)pthread_sigmask(SIG_BLOCK, &one, &before);
    if (!sigismember(&before, signo))
        (void)sigaddset(&loop->blocked, signo);
    loop->handled = set;
    VEC_PUSH(&loop->signals, (struct signal_watch){ signo, fn, self });
    return 0;
}
