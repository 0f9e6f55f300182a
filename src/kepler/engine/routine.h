/*
 * routine - a multi-step procedure: a start, a stop, a restart, an exit.
 *
 * A routine is a list of operations. When one ends at once, the next follows; one that waits (for
 * a hook, for dependencies, for the end of the tree, for a delay) is continued by its event. The
 * table in service.c decides which event may interrupt which routine.
 *
 * A service runs one routine at a time; a new one replaces the old. A running hook step or
 * evaluation is ended first, and the new routine begins when it is gone.
 *
 * Used by service.c, and by the operations in op.h. Threads: the loop's.
 */
#ifndef KEPLER_ENGINE_ROUTINE_H
#define KEPLER_ENGINE_ROUTINE_H

#include <stdbool.h>

#include "kepler/config/status.h"

struct routine;
struct service;

extern const struct routine routine_start;   /* from inactive to running */
extern const struct routine routine_rewait;  /* from waiting for an edge again to running */
extern const struct routine routine_stop;    /* from running to stopped */
extern const struct routine routine_halt;    /* to stopped, when nothing runs */
extern const struct routine routine_restart; /* from running to running, through a stop */
extern const struct routine routine_exit;    /* the process ended by itself: decide what follows */
extern const struct routine routine_retry;   /* from an end to running, by the policy */
extern const struct routine routine_healthy; /* it has become healthy */
extern const struct routine routine_unhealthy; /* it has become unhealthy */
extern const struct routine routine_cleanup;   /* before all its data is removed */

/* Abandons the current routine and begins this one. */
void routine_begin(struct service *service, const struct routine *routine);
/* The awaited event has come. */
void routine_continue(struct service *service);

/* Abandons the current routine, outside hooks, and becomes inactive. */
void routine_settle(struct service *service, enum status status);

/* Is it a start, not the restart of something that ran? */
bool routine_is_start(const struct service *service);
/* The operation that the routine waits for. */
bool routine_waits_for_turn(const struct service *service);
bool routine_waits_for_edges(const struct service *service);
bool routine_waits_for_end(const struct service *service);
bool routine_waits_for_pause(const struct service *service);
/* Is the routine at its edges, or still before them? */
bool routine_will_wait_for_edges(const struct service *service);

#endif
