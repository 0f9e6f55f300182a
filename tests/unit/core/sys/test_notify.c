#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/sys/fd.h"
#include "core/sys/loop.h"
#include "core/sys/notify.h"

/* A socket as systemd has one, with a name of this process; it is in NOTIFY_SOCKET. */
static int listen_as_systemd(void)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    char name[64];
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)snprintf(name, sizeof(name), "@zester-test-notify-%d", (int)getpid());
    (void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", name);
    at.sun_path[0] = '\0';
    CHECK_INT(bind(fd, (const struct sockaddr *)&at,
                   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
              0);
    (void)setenv("NOTIFY_SOCKET", name, 1);
    return fd;
}

static const char *read_notice(int fd)
{
    static char text[64];
    ssize_t size = recv(fd, text, sizeof(text) - 1, 0);

    text[size > 0 ? size : 0] = '\0';
    return text;
}

TEST(systemd_hears_that_the_daemon_is_ready_and_then_that_it_lives)
{
    struct err err;
    struct loop *loop = loop_new(&err);
    struct notify notify = { 0 };
    AUTO_FD int fd = listen_as_systemd();

    (void)setenv("WATCHDOG_USEC", "2000", 1);
    (void)unsetenv("WATCHDOG_PID");
    notify_init(&notify, loop);
    notify_ready(&notify);
    CHECK_STR(read_notice(fd), "READY=1");
    CHECK_STR(read_notice(fd), "WATCHDOG=1");
    CHECK_STR(read_notice(fd), "");
    (void)usleep(1000); /* half of the time that is allowed */
    loop_turn(loop);
    CHECK_STR(read_notice(fd), "WATCHDOG=1");
    notify_done(&notify);
    loop_free(loop);
}

TEST(programs_of_the_daemon_do_not_see_the_socket_and_a_new_start_does)
{
    struct err err;
    struct loop *loop = loop_new(&err);
    struct notify notify = { 0 };
    AUTO_FD int fd = listen_as_systemd();

    (void)setenv("WATCHDOG_USEC", "60000000", 1);
    notify_init(&notify, loop);
    notify_ready(&notify);
    CHECK(!getenv("NOTIFY_SOCKET"));
    CHECK(!getenv("WATCHDOG_USEC"));
    notify_done(&notify);
    CHECK(getenv("NOTIFY_SOCKET"));
    CHECK_STR(getenv("WATCHDOG_USEC"), "60000000");
    loop_free(loop);
}

TEST(another_process_that_systemd_watches_is_not_spoken_for)
{
    struct err err;
    struct loop *loop = loop_new(&err);
    struct notify notify = { 0 };
    AUTO_FD int fd = listen_as_systemd();

    (void)setenv("WATCHDOG_USEC", "2000", 1);
    (void)setenv("WATCHDOG_PID", "1", 1);
    notify_init(&notify, loop);
    notify_ready(&notify);
    CHECK_STR(read_notice(fd), "READY=1");
    CHECK_STR(read_notice(fd), "");
    CHECK_INT(notify.interval, 0);
    notify_done(&notify);
    loop_free(loop);
}

TEST(without_systemd_nothing_is_sent)
{
    struct err err;
    struct loop *loop = loop_new(&err);
    struct notify notify = { 0 };

    (void)unsetenv("NOTIFY_SOCKET");
    (void)unsetenv("WATCHDOG_USEC");
    notify_init(&notify, loop);
    notify_ready(&notify);
    CHECK_STR(notify.socket, "");
    CHECK_INT(notify.interval, 0);
    notify_done(&notify);
    notify_done(&notify);
    loop_free(loop);
}
