/*
 * runlock - keeps runs on one machine from overlapping.
 *
 * A real run locks a file in the data folder. A second run reports the wait once, and continues
 * when the first is done, or gives up after host->lock_wait. Dry runs need no lock.
 *
 * Threads: any; the kernel releases the lock when the process ends.
 */
#ifndef STATES_RUN_RUNLOCK_H
#define STATES_RUN_RUNLOCK_H

#include <stdint.h>

struct err;
struct lock;
struct run_sink;
struct state_host;

#define RUNLOCK_WAIT (600 * INT64_C(1000000000))

/* Creates the data folder. Fails with ERR_BUSY, which names the holder, and with ERR_CANCELED. */
int runlock_take(struct lock *lock, const struct state_host *host, const struct run_sink *sink,
                 struct err *err);

#endif
