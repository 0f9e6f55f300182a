/*
 * thread - start a thread that no signal disturbs.
 *
 * A signal to the process is delivered to any thread that does not block it. A thread started
 * before the main thread blocks SIGINT for its loop would receive it and kill the process.
 */
#ifndef CORE_SYS_THREAD_H
#define CORE_SYS_THREAD_H

#include <pthread.h>
#include <stddef.h>

typedef void *thread_fn(void *arg);

/* Blocks all signals in the new thread, except faults of its own. Returns the errno of a failure,
 * or 0. */
int thread_start(pthread_t *ret_thread, size_t stack_size, thread_fn *fn, void *arg);

#endif
