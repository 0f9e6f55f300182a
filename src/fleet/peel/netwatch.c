#include "fleet/peel/netwatch.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"

#define MESSAGE_MAX 8192
#define GROUPS      (RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR)

static void on_network_settled(struct timer *timer)
{
    struct netwatch *netwatch = container_of(timer, struct netwatch, timer);

    netwatch->told = clock_now();
    netwatch->fn(netwatch);
}

/* The reader looks at the current state anyway; lost messages count as a change, too. */
static void on_netlink_input(struct watch *watch, uint32_t events)
{
    struct netwatch *netwatch = container_of(watch, struct netwatch, watch);
    const int64_t soon = clock_after(clock_now(), NETWATCH_SETTLE);
    const int64_t again = clock_after(netwatch->told, NETWATCH_PAUSE);
    char message[MESSAGE_MAX];

    (void)events;
    while (recv(netwatch->fd, message, sizeof(message), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
        continue;
    if (!timer_is_set(&netwatch->timer))
        timer_set(loop_timers(netwatch->loop), &netwatch->timer,
                  netwatch->told && again > soon ? again : soon, on_network_settled);
}

int netwatch_start(struct netwatch *netwatch, struct loop *loop,
                   void (*fn)(struct netwatch *netwatch), struct err *err)
{
    const struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = GROUPS };

    *netwatch = (struct netwatch){ .loop = loop, .fn = fn };
    netwatch->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (netwatch->fd < 0)
        return err_sys(err, errno, "rtnetlink");
    if (bind(netwatch->fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return watch_start(&netwatch->watch, loop, netwatch->fd, WATCH_READ, on_netlink_input, err);
    err_sys(err, errno, "rtnetlink");
    fd_close(&netwatch->fd);
    return -1;
}

void netwatch_stop(struct netwatch *netwatch)
{
    if (netwatch->fd < 0)
        return;
    watch_stop(&netwatch->watch);
    timer_clear(loop_timers(netwatch->loop), &netwatch->timer);
    fd_close(&netwatch->fd);
}
