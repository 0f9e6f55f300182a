/*
 * edge - waiting for dependencies.
 *
 * All edges are waited for at once, and the timeout of each runs from when the
 * wait began. An edge that held counts as met from then on, whatever the
 * dependency does next, unless the dependency restarts and the edge passes
 * restarts on. States of this machine are waited for in the same way: kepler/engine/state_edge.h.
 *
 * Threads: the loop's.
 */
#ifndef KEPLER_ENGINE_EDGE_H
#define KEPLER_ENGINE_EDGE_H

#include "kepler/engine/service.h"

enum edge_result {
    EDGE_RESULT_WAIT,
    EDGE_RESULT_GO,   /* all are met */
    EDGE_RESULT_SKIP, /* one never will be; the reason of the service says why */
    EDGE_RESULT_LATE, /* the timeout of one is over; likewise */
};

/* Wait for all of them, or for none. */
void edge_want_all(struct service *service, bool none);
/* Is one waited for, or may a restart come along it? */
bool edge_has_any(const struct service *service);
/* The waiting begins: timeouts run from now. For edges that joined later: from when they did. */
void edge_begin(struct service *service);
/* How is it now? */
enum edge_result edge_judge(struct service *service);
/* No more waiting; timers are cleared. */
void edge_end(struct service *service);

#endif
