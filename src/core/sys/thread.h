/*
 * thread - start a thread that no signal disturbs.
 *
 * A signal to the process is delivered to any thread that does not block it. A thread that was
 * started before the main thread blocked SIGINT for its loop would take it, and the process would
 * die of it.
 */
#ifndef CORE_SYS_THREAD_H
#define CORE_SYS_THREAD_H

#include <pthread.h>
#include <stddef.h>

typedef void *thread_fn(void *arg);

/* Blocks all signals in the new thread, except those of its own faults. Returns the errno of what
 * failed, or 0. */
int thread_start(pthread_t *ret_thread, size_t stack_size, thread_fn *fn, void *arg);

#endif
