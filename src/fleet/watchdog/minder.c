#include "fleet/watchdog/minder.h"

#include <signal.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/sys/clock.h"

#define LOCK_AS 3 /* the descriptor of the lock in the child */

void minder_init(struct minder *minder, struct loop *loop,
                 void (*ended)(struct minder *minder, struct process_status status))
{
    *minder = (struct minder){ .loop = loop, .ended = ended };
}

static void on_child_event(struct watch *watch, uint32_t events)
{
    struct minder *minder = container_of(watch, struct minder, watch);
    struct process_status status = { .code = -1 };
    bool has_ended = false;
    struct err err;

    (void)events;
    if (process_reap(minder->process.pidfd, &has_ended, &status, &err) == 0 && !has_ended)
        return;
    watch_stop(&minder->watch);
    timer_clear(loop_timers(minder->loop), &minder->deadline);
    process_done(&minder->process);
    minder->process = (struct process){ 0 };
    minder->ended(minder, status);
}

int minder_start(struct minder *minder, const char *program, const char *config, int lock,
                 struct err *err)
{
    const char *const argv[] = { program, "--config", config, NULL };
    const struct process_fd fds[] = { { lock, LOCK_AS } };
    const struct process_spec spec = {
        .argv = argv,
        .out = { .kind = PROCESS_INHERIT },
        .err = { .kind = PROCESS_INHERIT },
        .fds = fds,
        .fd_count = ARRAY_LEN(fds),
        .parent_death = SIGTERM,
    };

    if (process_start(&spec, &minder->process, err) < 0)
        return -1;
    if (watch_start(&minder->watch, minder->loop, minder->process.pidfd, WATCH_READ, on_child_event,
                    err) == 0)
        return 0;
    minder_signal(minder, SIGKILL);
    process_done(&minder->process);
    minder->process = (struct process){ 0 };
    return -1;
}

void minder_signal(struct minder *minder, int signo)
{
    struct err err;

    if (minder->process.pid > 0 && process_signal(&minder->process, signo, &err) < 0)
        log_warning("signal not sent to the daemon error=%s", err.text);
}

static void on_kill_deadline(struct timer *timer)
{
    struct minder *minder = container_of(timer, struct minder, deadline);

    log_warning("the daemon does not stop, killing it pid=%d", (int)minder->process.pid);
    minder_signal(minder, SIGKILL);
}

void minder_stop(struct minder *minder)
{
    minder_signal(minder, SIGTERM);
    timer_set(loop_timers(minder->loop), &minder->deadline,
              clock_after(clock_now(), MINDER_STOP_NS), on_kill_deadline);
}
