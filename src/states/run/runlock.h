/*
 * runlock - two runs on one machine do not overlap.
 *
 * A file in the data folder is locked for the time of a run that changes things. The
 * second run says so once, waits, and continues when the first is done; or gives up
 * after host->lock_wait. Dry runs need no lock.
 *
 * Threads: any; the lock ends with the process, however that ends.
 */
#ifndef STATES_RUN_RUNLOCK_H
#define STATES_RUN_RUNLOCK_H

#include <stdint.h>

struct err;
struct lock;
struct run_sink;
struct state_host;

#define RUNLOCK_WAIT (600 * INT64_C(1000000000))

/* Makes the data folder. Fails with ERR_BUSY, which names the holder, and with ERR_CANCELED. */
int runlock_take(struct lock *lock, const struct state_host *host, const struct run_sink *sink,
                 struct err *err);

#endif
