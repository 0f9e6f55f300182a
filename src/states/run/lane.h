/*
 * lane - those that may not run at the same time wait in a line, not in a worker.
 *
 * A lane has a name (`module.lock`). The first to enter a free lane continues at once;
 * others queue in it, and whoever leaves takes the next one along. So a thousand package
 * states need one worker, not a thousand.
 *
 *     lane_enter(...) ? run it : leave it there
 *     after running: while ((next = lane_leave(...))) run next
 *
 * Memory: the lanes are their own, since those who wait share nothing else; tickets are their
 * owners'. Threads: any.
 */
#ifndef STATES_RUN_LANE_H
#define STATES_RUN_LANE_H

#include <pthread.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/map.h"

/* Embedded in what waits. */
struct lane_ticket {
    struct lane_ticket *next;
};

struct lanes {
    pthread_mutex_t mutex;
    struct arena arena;
    struct map lanes; /* by name */
};

void lanes_init(struct lanes *lanes);
void lanes_done(struct lanes *lanes);

/* True: go on, the lane is yours. False: the ticket is in the line. A NULL name is always free. */
bool lane_enter(struct lanes *lanes, const char *name, struct lane_ticket *ticket);
/* Leave; returns who has it now and must be run by the caller, or NULL. */
struct lane_ticket *lane_leave(struct lanes *lanes, const char *name);

#endif
