#include "core/sys/notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/number.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/loop.h"

#define SOCKET_VARIABLE "NOTIFY_SOCKET"
#define USEC_VARIABLE   "WATCHDOG_USEC"
#define PID_VARIABLE    "WATCHDOG_PID"
#define USEC_MAX        (INT64_MAX / 1000)

static void take_variable(const char *name, char text[NOTIFY_TEXT_MAX])
{
    const char *value = getenv(name);

    (void)snprintf(text, NOTIFY_TEXT_MAX, "%s", value ? value : "");
    (void)unsetenv(name);
}

static void put_variable(const char *name, const char *text)
{
    if (text[0])
        (void)setenv(name, text, 1);
}

/* A message that is lost is not worth an error: systemd acts when it hears nothing. */
static void send_notice(const struct notify *notify, const char *text)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    const size_t length = strlen(notify->socket);
    AUTO_FD int fd = -1;

    if (length == 0 || length >= sizeof(at.sun_path))
        return;
    memcpy(at.sun_path, notify->socket, length);
    if (at.sun_path[0] == '@')
        at.sun_path[0] = '\0'; /* a name that is not in the file system */
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&at,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
}

static void on_sign_due(struct timer *timer)
{
    struct notify *notify = container_of(timer, struct notify, timer);

    send_notice(notify, "WATCHDOG=1");
    timer_set(loop_timers(notify->loop), timer, clock_after(clock_now(), notify->interval),
              on_sign_due);
}

/* Twice in the time that systemd allows; 0: it does not expect any of this process. */
static int64_t find_interval(const struct notify *notify)
{
    struct err ignored;
    int64_t usec, pid;

    if (number_parse_int(str_from(notify->usec), &usec, &ignored) < 0 || usec <= 0 ||
        usec > USEC_MAX)
        return 0;
    if (notify->pid[0] &&
        (number_parse_int(str_from(notify->pid), &pid, &ignored) < 0 || pid != getpid()))
        return 0;
    return usec * 1000 / 2;
}

void notify_init(struct notify *notify, struct loop *loop)
{
    *notify = (struct notify){ .loop = loop };
    take_variable(SOCKET_VARIABLE, notify->socket);
    take_variable(USEC_VARIABLE, notify->usec);
    take_variable(PID_VARIABLE, notify->pid);
    notify->interval = find_interval(notify);
}

void notify_ready(struct notify *notify)
{
    send_notice(notify, "READY=1");
    if (notify->interval > 0)
        on_sign_due(&notify->timer);
}

void notify_done(struct notify *notify)
{
    if (!notify->loop)
        return;
    timer_clear(loop_timers(notify->loop), &notify->timer);
    put_variable(SOCKET_VARIABLE, notify->socket);
    put_variable(USEC_VARIABLE, notify->usec);
    put_variable(PID_VARIABLE, notify->pid);
    notify->loop = NULL;
}
