/*
 * edge - waiting for dependencies.
 *
 * All edges are waited for in parallel; each timeout runs from the start of the wait. Once an edge
 * held, it stays met whatever the dependency does next, unless the dependency restarts and the
 * edge passes restarts on. States of this machine are waited for in the same way:
 * kepler/engine/state_edge.h.
 *
 * Threads: the loop's.
 */
#ifndef KEPLER_ENGINE_EDGE_H
#define KEPLER_ENGINE_EDGE_H

#include "kepler/engine/service.h"

enum edge_result {
    EDGE_RESULT_WAIT,
    EDGE_RESULT_GO,   /* all are met */
    EDGE_RESULT_SKIP, /* one never will be; the service's reason explains it */
    EDGE_RESULT_LATE, /* one has timed out; the service's reason explains it */
};

/* Waits for all edges, or for none. */
void edge_want_all(struct service *service, bool none);
/* Is an edge waited for, or may a restart arrive through it? */
bool edge_has_any(const struct service *service);
/* Begins waiting: timeouts run from now. For edges that joined later: from when they did. */
void edge_begin(struct service *service);
/* The current result. */
enum edge_result edge_judge(struct service *service);
/* Stops waiting and clears timers. */
void edge_end(struct service *service);

#endif
