/*
 * named lock - those that may not run at the same time wait in a line, not in a worker.
 *
 * A named lock has a name (`module.lock`). The first to enter a free named lock continues at once;
 * others queue in it, and whoever leaves takes the next one along. So a thousand package
 * states need one worker, not a thousand.
 *
 *     named_lock_enter(...) ? run it : leave it there
 *     after running: while ((next = named_lock_leave(...))) run next
 *
 * Memory: the named locks are their own, since those who wait share nothing else; tickets are their
 * owners'. Threads: any.
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

/* True: go on, the named lock is yours. False: the ticket is in the line. A NULL name is always
 * free. */
bool named_lock_enter(struct named_locks *named_locks, const char *name,
                      struct named_lock_ticket *ticket);
/* Leave; returns who has it now and must be run by the caller, or NULL. */
struct named_lock_ticket *named_lock_leave(struct named_locks *named_locks, const char *name);

#endif
