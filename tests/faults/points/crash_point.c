/*
 * The crash points of programs that are built for tests.
 *
 *     ZESTER_CRASH=STEP:N:MS    the N-th time that STEP is reached, end; MS milliseconds later, so
 *                               that what was written until then has left the process
 *
 * The end is that of a signal which nobody handles: nothing is flushed and nobody is told.
 */
#include "sys/crash_point.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define VARIABLE "ZESTER_CRASH"

static void end_process(long delay_ms)
{
    const struct itimerval timer = { .it_value = { delay_ms / 1000, delay_ms % 1000 * 1000 } };

    if (delay_ms <= 0 || setitimer(ITIMER_REAL, &timer, NULL) < 0)
        (void)raise(SIGKILL);
}

void crash_point(const char *step)
{
    static atomic_long reached;
    const char *wanted = getenv(VARIABLE);
    const size_t length = strlen(step);
    char *rest;
    long number;

    if (!wanted || strncmp(wanted, step, length) != 0 || wanted[length] != ':')
        return;
    number = strtol(wanted + length + 1, &rest, 10);
    if (atomic_fetch_add(&reached, 1) + 1 == number)
        end_process(*rest == ':' ? strtol(rest + 1, NULL, 10) : 0);
}
