/*
 * The crash points of programs that are built for tests.
 *
 *     ZESTER_CRASH=STEP:N:MS    the N-th time that STEP is reached, end; MS milliseconds later, so
 *                               that what was written until then has left the process
 *     ZESTER_CANCEL=STEP:N:MS   the same with SIGTERM, or with the SIGALRM of a timer when MS is
 *                               not 0, which a program may handle
 *     ZESTER_REACHED=FILE       a line for each step that is reached
 *
 * The end is that of a signal which nobody handles: nothing is flushed and nobody is told.
 */
#include "core/sys/crash_point.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static void note_step(const char *step)
{
    const char *path = getenv("ZESTER_REACHED");
    char line[128];
    int fd;

    if (!path)
        return;
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    (void)snprintf(line, sizeof(line), "%s\n", step);
    if (write(fd, line, strlen(line)) < 0)
        abort();
    (void)close(fd);
}

static void send_signal(int signo, long delay_ms)
{
    const struct itimerval timer = { .it_value = { delay_ms / 1000, delay_ms % 1000 * 1000 } };

    if (delay_ms <= 0 || setitimer(ITIMER_REAL, &timer, NULL) < 0)
        (void)raise(signo);
}

/* The "N:MS" of a variable that is about this step; NULL. */
static const char *find_number(const char *variable, const char *step)
{
    const char *wanted = getenv(variable);
    const size_t length = strlen(step);

    if (!wanted || strncmp(wanted, step, length) != 0 || wanted[length] != ':')
        return NULL;
    return wanted + length + 1;
}

void crash_point(const char *step)
{
    static const struct {
        const char *variable;
        int signo;
    } deeds[] = { { "ZESTER_CRASH", SIGKILL }, { "ZESTER_CANCEL", SIGTERM } };
    static atomic_long reached;

    note_step(step);
    for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
        const char *number = find_number(deeds[i].variable, step);
        char *rest;

        if (number && strtol(number, &rest, 10) == atomic_fetch_add(&reached, 1) + 1)
            send_signal(deeds[i].signo, *rest == ':' ? strtol(rest + 1, NULL, 10) : 0);
    }
}
