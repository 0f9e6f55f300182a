/*
 * netwatch - reports changes of this machine's interfaces and addresses.
 *
 * It listens to the kernel (rtnetlink). Changes come in bursts, and constantly on machines with
 * containers, so they are reported once after NETWATCH_SETTLE, and at least NETWATCH_PAUSE apart.
 *
 *     netwatch_start -> fn... -> netwatch_stop
 *
 * Memory: lives in its owner's struct. Threads: the loop's.
 */
#ifndef FLEET_PEEL_NETWATCH_H
#define FLEET_PEEL_NETWATCH_H

#include <stdint.h>

#include "core/sys/loop.h"

struct err;

#define NETWATCH_SETTLE (INT64_C(1) * 1000000000)
#define NETWATCH_PAUSE  (INT64_C(10) * 1000000000)

struct netwatch {
    struct loop *loop;
    void (*fn)(struct netwatch *netwatch);
    struct watch watch;
    struct timer timer;
    int fd; /* -1: not started */
    int64_t told;
};

#define NETWATCH_INIT                                                                              \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* A failure leaves it stopped. */
int netwatch_start(struct netwatch *netwatch, struct loop *loop,
                   void (*fn)(struct netwatch *netwatch), struct err *err);
/* Not started is fine. */
void netwatch_stop(struct netwatch *netwatch);

#endif
