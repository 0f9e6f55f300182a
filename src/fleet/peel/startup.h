/*
 * startup - applies states once at each start of the agent.
 *
 * With a bus they wait for the tree of states, at most STARTUP_WAIT; without one they use the
 * present files. Without a tree or settings they are retried.
 *
 * Memory: lives in its owner's struct. Threads: the loop's.
 */
#ifndef FLEET_PEEL_STARTUP_H
#define FLEET_PEEL_STARTUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/peel/conf.h"
#include "core/sys/loop.h"

struct job_queue;

#define STARTUP_WAIT  (INT64_C(60) * 1000000000)
#define STARTUP_RETRY (INT64_C(1) * 1000000000)
/* Wait for the bus. */
#define STARTUP_ALONE (INT64_C(10) * 1000000000)
/* Tries before a warning. */
#define STARTUP_PATIENCE 10

struct startup {
    struct loop *loop;
    struct job_queue *job_queue;
    const struct peel_conf *conf;
    /* Is the tree in sync; is there a connection? */
    bool (*is_synced)(void *self);
    bool (*is_connected)(void *self);
    void *self;
    struct timer timer;
    int64_t began;
    size_t next; /* reference of the list */
    unsigned tries;
};

/* Fill in the first part of the struct before. */
void startup_begin(struct startup *startup);
void startup_stop(struct startup *startup);

#endif
