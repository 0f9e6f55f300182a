/*
 * log thread - the thread that reads the pipes of services and writes logs.
 *
 * A disk may take its time: when it does, this thread waits, pipes fill up, and those who
 * write into them wait in turn; the daemon goes on looking after services. Nothing is lost
 * and nothing piles up in memory.
 *
 *     log_thread_start -> { log_thread_send, log_thread_reply }... -> log_thread_stop
 *
 * Memory: lives in its owner's struct. Threads: start and stop are for the daemon's; the
 * rest as it says.
 */
#ifndef KEPLER_DAEMON_LOG_THREAD_H
#define KEPLER_DAEMON_LOG_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#include "core/sys/loop_message.h"

struct err;

struct log_thread {
    struct loop *loop; /* of the thread */
    pthread_t thread;
    struct loop_messages in, out;
    bool running;
};

/* `loop` is the daemon's. */
int log_thread_start(struct log_thread *log_thread, struct loop *loop, struct err *err);
/* After all that was sent is done. Not started is fine. */
void log_thread_stop(struct log_thread *log_thread);

/* From the daemon: to be done in the thread. */
void log_thread_send(struct log_thread *log_thread, struct loop_message *loop_message,
                     loop_message_fn *fn);
/* The same, and wait until it is done. Answers that were under way have arrived then. */
void log_thread_send_wait(struct log_thread *log_thread, loop_message_fn *fn, void *self);
/* From the thread: to be done in the daemon's loop. */
void log_thread_reply(struct log_thread *log_thread, struct loop_message *loop_message,
                      loop_message_fn *fn);

/* What log_thread_send_wait was given, in its function. */
void *log_thread_self(struct loop_message *loop_message);

#endif
