/*
 * notify - tells systemd that a daemon is ready, and that its loop still turns.
 *
 * For units with Type=notify and WatchdogSec: a datagram to the socket in NOTIFY_SOCKET. Without
 * that variable nothing is sent. The variables are taken out of the environment, so that programs
 * which the daemon runs do not speak for it; notify_done puts them back, for a process that
 * starts itself again.
 *
 *     notify_init (before there are threads) -> notify_ready -> notify_done
 *
 * Memory: in its owner's struct. Threads: the loop's.
 */
#ifndef CORE_SYS_NOTIFY_H
#define CORE_SYS_NOTIFY_H

#include <stdint.h>

#include "core/sys/timers.h"

struct loop;

#define NOTIFY_TEXT_MAX 128

struct notify {
    struct loop *loop;
    char socket[NOTIFY_TEXT_MAX]; /* "": nobody asks */
    char usec[NOTIFY_TEXT_MAX], pid[NOTIFY_TEXT_MAX];
    int64_t interval; /* nanoseconds between two signs of life; 0: none are wanted */
    struct timer timer;
};

void notify_init(struct notify *notify, struct loop *loop);
/* The daemon serves from now on. */
void notify_ready(struct notify *notify);
/* It ends. Zero is fine. */
void notify_done(struct notify *notify);

#endif
