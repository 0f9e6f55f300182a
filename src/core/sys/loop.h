/*
 * loop - one thread that waits for everything: files (the pidfd of a child is one), timers,
 * signals.
 *
 * Collect first, act later: the events of a turn are collected, then the
 * callbacks run; a `step` runs after all callbacks of a turn and
 * before the loop waits again. Watches and timers live in their owner's struct
 * and may be stopped at any time, in any callback, after which they are never
 * called; their memory may be freed at once.
 *
 *     loop_new -> { watch_start, timer_set(loop_timers), ... } -> loop_run -> loop_free
 *
 * An idle loop uses no time. Threads: one; others reach it through a mailbox.
 */
#ifndef CORE_SYS_LOOP_H
#define CORE_SYS_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sys/timers.h"

struct err;
struct loop;

struct loop *loop_new(struct err *err);
/* Remaining watches are forgotten. NULL is fine. */
void loop_free(struct loop *loop);
/* Runs until loop_stop. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

/* One turn without waiting: the pending events, then the steps. For tests. */
void loop_turn(struct loop *loop);

struct timers *loop_timers(struct loop *loop);

/* --- files ------------------------------------------------------------------------ */

enum watch_event {
    WATCH_READ = 1,  /* EPOLLIN */
    WATCH_WRITE = 4, /* EPOLLOUT */
    WATCH_PRI = 2,   /* EPOLLPRI: files of /proc and control groups that changed */
    WATCH_ERROR = 8, /* EPOLLERR, always reported */
    WATCH_HUP = 16,  /* EPOLLHUP, always reported */
};

struct watch;
typedef void watch_fn(struct watch *watch, uint32_t events);

/* Zero watches nothing. */
struct watch {
    struct loop *loop;
    int fd;
    uint32_t events;
    watch_fn *fn;
};

/* Call `fn` as long as `fd` is ready for one of `events`. Fails for plain files. */
int watch_start(struct watch *watch, struct loop *loop, int fd, uint32_t events, watch_fn *fn,
                struct err *err);
/* Change the events to wait for. */
int watch_change(struct watch *watch, uint32_t events, struct err *err);
/* Call it before closing the fd. Not started is fine. */
void watch_stop(struct watch *watch);

/* --- steps and signals ------------------------------------------------------------ */

typedef void loop_fn(void *self);
typedef void loop_signal_fn(void *self, int signo);

/* Call `fn(self)` after the callbacks of each turn, for as long as the loop lives. */
void loop_on_step(struct loop *loop, loop_fn *fn, void *self);
/* Call `fn` for each signal, in the loop, for as long as the loop lives. The signal is blocked in
 * the calling thread and in threads that it starts later; every other thread must block it, and no
 * other loop may handle it. */
int loop_on_signal(struct loop *loop, int signo, loop_signal_fn *fn, void *self, struct err *err);

#endif
