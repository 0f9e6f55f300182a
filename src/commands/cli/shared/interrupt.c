#include "commands/cli/shared/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

#include "core/base/mem.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/inherited.h"

/* A signal handler can only find what is global. */
static struct cancel *signal_cancel;
static volatile sig_atomic_t first_signal; /* 0: none yet */

static void on_interrupt(int signo)
{
    if (first_signal == 0)
        first_signal = signo;
    if (signal_cancel)
        cancel_raise(signal_cancel);
}

/* Ctrl-C, SIGTERM, a hangup and the time limit all end a run in the same way: what runs is killed
 * with its children, the rest is skipped. A second Ctrl-C ends the program at once. */
void interrupt_watch(struct cancel *cancel, int64_t timeout)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM };
    /* the timer counts microseconds, and 0 would mean no limit */
    const int64_t us = timeout / CLOCK_US + (timeout % CLOCK_US > 0);
    const struct itimerval timer = {
        .it_value = { (time_t)(us / 1000000), (suseconds_t)(us % 1000000) },
    };
    struct sigaction action = { .sa_handler = on_interrupt,
                                .sa_flags = SA_RESTART | (int)SA_RESETHAND };

    signal_cancel = cancel;
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        if (!inherited_is_ignored(signals[i]))
            (void)sigaction(signals[i], &action, NULL);
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, NULL); /* a closed pipe is an error of the write */
    if (timeout > 0)
        (void)setitimer(ITIMER_REAL, &timer, NULL);
}

bool interrupt_timed_out(void)
{
    return first_signal == SIGALRM;
}

void interrupt_forget(void)
{
    signal_cancel = NULL;
}
