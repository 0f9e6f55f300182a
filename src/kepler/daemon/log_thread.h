/*
 * log thread - the thread that reads the pipes of services and writes logs.
 *
 * Disks can be slow: then this thread waits, pipes fill up, and their writers wait in turn, while
 * the daemon continues to supervise. Nothing is lost and memory stays bounded.
 *
 *     log_thread_start -> { log_thread_send, log_thread_reply }... -> log_thread_stop
 *
 * Memory: lives in its owner's struct. Threads: start and stop are for the daemon's; the others as
 * stated.
 */
#ifndef KEPLER_DAEMON_LOG_THREAD_H
#define KEPLER_DAEMON_LOG_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#include "core/sys/loop_message.h"

struct err;

struct log_thread {
    struct loop *loop; /* the thread's own */
    pthread_t thread;
    struct loop_messages in, out;
    bool running;
};

/* `loop` is the daemon's. */
int log_thread_start(struct log_thread *log_thread, struct loop *loop, struct err *err);
/* After all sent work is done. Not started is fine. */
void log_thread_stop(struct log_thread *log_thread);

/* From the daemon: runs a message in the thread. */
void log_thread_send(struct log_thread *log_thread, struct loop_message *loop_message,
                     loop_message_fn *fn);
/* The same, and waits until it is done. Replies in progress have arrived then. */
void log_thread_send_wait(struct log_thread *log_thread, loop_message_fn *fn, void *self);
/* From the thread: runs a message in the daemon's loop. */
void log_thread_reply(struct log_thread *log_thread, struct loop_message *loop_message,
                      loop_message_fn *fn);

/* Inside the function: the argument of log_thread_send_wait. */
void *log_thread_self(struct loop_message *loop_message);

#endif
