/*
 * state_edge - waiting for states of this machine, beside the services that a service waits for.
 *
 * A state is met once its last run succeeded, and counts as met from then on, whatever later runs
 * bring. One that passes restarts on is watched while the service is up: when it has changed
 * something in a run that succeeded, the service restarts.
 *
 * For edge.c and engine.c. Threads: the loop's.
 */
#ifndef KEPLER_ENGINE_STATE_EDGE_H
#define KEPLER_ENGINE_STATE_EDGE_H

#include "kepler/engine/edge.h"

/* As the functions of kepler/engine/edge.h, for states. */
void state_edges_want(struct service *service, bool none);
bool state_edges_wait(const struct service *service);
void state_edges_begin(struct service *service);
enum edge_result state_edges_judge(struct service *service);
void state_edges_end(struct service *service);

/* Have the world watch the states of the service while that matters to it. */
void state_edges_watch(struct service *service);
/* The world has heard of them: one that has changed something restarts the service. */
void state_edges_follow(struct service *service);

#endif
