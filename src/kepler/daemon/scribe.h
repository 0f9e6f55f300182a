/*
 * scribe - the thread that reads the pipes of services and writes logs.
 *
 * A disk may take its time: when it does, this thread waits, pipes fill up, and those who
 * write into them wait in turn; the daemon goes on looking after services. Nothing is lost
 * and nothing piles up in memory.
 *
 *     scribe_start -> { scribe_send, scribe_reply }... -> scribe_stop
 *
 * Memory: lives in its owner's struct. Threads: start and stop are for the daemon's; the
 * rest as it says.
 */
#ifndef KEPLER_DAEMON_SCRIBE_H
#define KEPLER_DAEMON_SCRIBE_H

#include <pthread.h>
#include <stdbool.h>

#include "core/sys/errand.h"

struct err;

struct scribe {
    struct loop *loop; /* of the thread */
    pthread_t thread;
    struct errands in, out;
    bool running;
};

/* `loop` is the daemon's. */
int scribe_start(struct scribe *scribe, struct loop *loop, struct err *err);
/* After all that was sent is done. Not started is fine. */
void scribe_stop(struct scribe *scribe);

/* From the daemon: to be done in the thread. */
void scribe_send(struct scribe *scribe, struct errand *errand, errand_fn *fn);
/* The same, and wait until it is done. Answers that were under way have arrived then. */
void scribe_send_wait(struct scribe *scribe, errand_fn *fn, void *self);
/* From the thread: to be done in the daemon's loop. */
void scribe_reply(struct scribe *scribe, struct errand *errand, errand_fn *fn);

/* What scribe_send_wait was given, in its function. */
void *scribe_self(struct errand *errand);

#endif
