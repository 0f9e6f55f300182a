/*
 * startup - states that are applied once at each start of the agent.
 *
 * With a bus they wait for the tree of states, for STARTUP_WAIT at most; without one they begin
 * with what is here. While there is no tree, or no settings, they are tried again.
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
/* Without a bus it is waited for this long. */
#define STARTUP_ALONE (INT64_C(10) * 1000000000)
/* Tries after which it is worth a warning. */
#define STARTUP_PATIENCE 10

struct startup {
    struct loop *loop;
    struct job_queue *job_queue;
    const struct peel_conf *conf;
    /* Is the tree that of the masters, is there a connection? */
    bool (*is_synced)(void *self);
    bool (*is_connected)(void *self);
    void *self;
    struct timer timer;
    int64_t began;
    size_t next; /* reference of the list */
    unsigned tries;
};

/* Fill in the first part before. */
void startup_begin(struct startup *startup);
void startup_stop(struct startup *startup);

#endif
