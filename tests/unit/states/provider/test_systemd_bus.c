#include "states/provider/service/systemd_bus.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/provider/tool.h"
#include "core/sys/clock.h"
#include "test.h"

static int listener;
static atomic_int callers;

/* A bus that hangs up on everybody. */
static void *hang_up(void *arg)
{
    int fd;

    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        atomic_fetch_add(&callers, 1);
        (void)close(fd);
    }
    return arg;
}

static struct sockaddr_un address = { .sun_family = AF_UNIX };

static void open_bus(pthread_t *ret_thread)
{
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_INT(bind(listener, (const struct sockaddr *)&address, sizeof(address)), 0);
    CHECK_INT(listen(listener, 8), 0);
    CHECK_INT(pthread_create(ret_thread, NULL, hang_up, NULL), 0);
}

static int show(void)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct tool tool = { .arena = &arena };
    struct systemd_unit unit;
    struct err err;

    return systemd_bus_show(&tool, "web", &unit, &err);
}

TEST(a_missing_bus_is_tried_again_later)
{
    char folder[] = "/tmp/test_bus.XXXXXX";
    char variable[sizeof(address.sun_path) + 16];
    pthread_t thread;

    if (access("/run/systemd/private", F_OK) == 0)
        return; /* this machine has systemd, which answers */
    CHECK(mkdtemp(folder) != NULL);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/bus", folder);
    (void)snprintf(variable, sizeof(variable), "unix:path=%s", address.sun_path);
    CHECK_INT(setenv("DBUS_SYSTEM_BUS_ADDRESS", variable, 1), 0);
    clock_fake(0, 0);
    CHECK_INT(show(), SYSTEMD_BUS_NONE);
    open_bus(&thread);
    clock_turn(SYSTEMD_BUS_ABSENCE - 1);
    CHECK_INT(show(), SYSTEMD_BUS_NONE);
    CHECK_INT(atomic_load(&callers), 0);
    clock_turn(1);
    CHECK_INT(show(), SYSTEMD_BUS_NONE);
    CHECK_INT(atomic_load(&callers), 1);
    CHECK_INT(shutdown(listener, SHUT_RDWR), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    (void)unlink(address.sun_path);
    (void)rmdir(folder);
}
