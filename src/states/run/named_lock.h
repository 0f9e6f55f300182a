/*
 * named lock - mutual exclusion by name, with waiters in a queue instead of a worker.
 *
 * The first task to enter a free lock (`module.lock`) continues at once; others queue, and the
 * task that leaves runs the next one. So a thousand package states need one worker, not a
 * thousand.
 *
 *     named_lock_enter(...) ? run the task : it is queued
 *     after running: while ((next = named_lock_leave(...))) run next
 *
 * Memory: locks are on the heap; tickets belong to the callers. Threads: any.
 */
#ifndef STATES_RUN_NAMED_LOCK_H
#define STATES_RUN_NAMED_LOCK_H

#include <pthread.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/map.h"

/* Embedded in what waits. */
struct named_lock_ticket {
    struct named_lock_ticket *next;
};

struct named_locks {
    pthread_mutex_t mutex;
    struct arena arena;
    struct map named_locks; /* by name */
};

void named_locks_init(struct named_locks *named_locks);
void named_locks_done(struct named_locks *named_locks);

/* True: the caller holds the lock. False: the ticket is queued. A NULL name is always free. */
bool named_lock_enter(struct named_locks *named_locks, const char *name,
                      struct named_lock_ticket *ticket);
/* Leave the lock. Returns the next holder, which the caller must run, or NULL. */
struct named_lock_ticket *named_lock_leave(struct named_locks *named_locks, const char *name);

#endif
