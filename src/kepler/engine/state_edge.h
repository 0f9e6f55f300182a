/*
 * state_edge - waiting for states of this machine, in addition to services.
 *
 * A state is met once its last run succeeded, and stays met, whatever later runs bring. A state
 * that passes restarts on is watched while the service is up: when a successful run changed
 * something, the service restarts.
 *
 * For edge.c and engine.c. Threads: the loop's.
 */
#ifndef KEPLER_ENGINE_STATE_EDGE_H
#define KEPLER_ENGINE_STATE_EDGE_H

#include "kepler/engine/edge.h"

/* Like the functions of kepler/engine/edge.h, for states. */
void state_edges_want(struct service *service, bool none);
bool state_edges_wait(const struct service *service);
void state_edges_begin(struct service *service);
enum edge_result state_edges_judge(struct service *service);
void state_edges_end(struct service *service);

/* Makes the world watch the service's states while they matter. */
void state_edges_watch(struct service *service);
/* The world has new results: a state that changed something restarts the service. */
void state_edges_follow(struct service *service);

#endif
