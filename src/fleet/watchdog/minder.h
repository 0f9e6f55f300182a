/*
 * minder - runs the daemon as a child: starts it, stops it, and kills it if it does not stop.
 *
 * When the watchdog dies, the kernel sends the child SIGTERM.
 *
 *     minder_start -> `ended`, once -> minder_start...
 *     minder_stop  -> `ended`, within MINDER_STOP_NS
 *
 * Memory: in its owner's struct. Threads: the loop's.
 */
#ifndef FLEET_WATCHDOG_MINDER_H
#define FLEET_WATCHDOG_MINDER_H

#include "core/sys/loop.h"
#include "core/sys/process.h"

struct err;

/* A daemon that gets SIGTERM is killed after this. */
#define MINDER_STOP_NS (INT64_C(10) * 1000000000)

struct minder {
    struct loop *loop;
    void (*ended)(struct minder *minder, struct process_status status);
    struct process process; /* pid 0: none */
    struct watch watch;
    struct timer deadline;
};

void minder_init(struct minder *minder, struct loop *loop,
                 void (*ended)(struct minder *minder, struct process_status status));
/* The child keeps `lock` open, so that no second one is started while it lives. */
int minder_start(struct minder *minder, const char *program, const char *config, int lock,
                 struct err *err);
void minder_stop(struct minder *minder);
/* Forwards a signal. */
void minder_signal(struct minder *minder, int signo);

#endif
