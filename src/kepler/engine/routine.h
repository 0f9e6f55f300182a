/*
 * routine - what takes several steps: a start, a stop, a restart, an exit.
 *
 * A routine is a list of operations. One that ends at once lets the next follow;
 * one that waits (for a hook, for dependencies, for the end of the tree, for a
 * pause to pass) is continued by the event it waits for. Which event may
 * interrupt which routine is not decided here but in the table of service.c.
 *
 * A service runs one routine at a time. A new one takes the place of the old; when a
 * step of a hook is running, or the world evaluates something, that is ended first and
 * the new routine begins when it is gone.
 *
 * Used by service.c, and by the steps of op.h. Threads: the loop's.
 */
#ifndef KEPLER_ENGINE_ROUTINE_H
#define KEPLER_ENGINE_ROUTINE_H

#include <stdbool.h>

#include "kepler/config/status.h"

struct routine;
struct service;

extern const struct routine routine_start;     /* from inactive to running */
extern const struct routine routine_rewait;    /* from waiting for an edge again to running */
extern const struct routine routine_stop;      /* from running to stopped */
extern const struct routine routine_halt;      /* to stopped, where nothing runs */
extern const struct routine routine_restart;   /* from running to running, through a stop */
extern const struct routine routine_exit;      /* the process ended by itself: what now? */
extern const struct routine routine_retry;     /* from an end to running, by the policy */
extern const struct routine routine_healthy;   /* it has become healthy */
extern const struct routine routine_unhealthy; /* it has become unhealthy */
extern const struct routine routine_cleanup;   /* before everything of it is removed */

/* Leave what is going on and begin this. */
void routine_begin(struct service *service, const struct routine *routine);
/* What the routine waited for has come. */
void routine_continue(struct service *service);

/* Leave what is going on, where no hook is, and be inactive. */
void routine_settle(struct service *service, enum status status);

/* Is it a start, not the restart of something that ran? */
bool routine_is_start(const struct service *service);
/* What the routine waits for. */
bool routine_waits_for_turn(const struct service *service);
bool routine_waits_for_edges(const struct service *service);
bool routine_waits_for_end(const struct service *service);
bool routine_waits_for_pause(const struct service *service);
/* Will it come to its edges, or is it there? */
bool routine_will_wait_for_edges(const struct service *service);

#endif
