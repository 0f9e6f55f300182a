/*
 * pause - wait before the next attempt without using a core; a cancel ends the wait.
 */
#ifndef STATES_STATE_PAUSE_H
#define STATES_STATE_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

struct cancel;

/* False when the run is canceled. */
bool pause_for(const struct cancel *cancel, int64_t nanoseconds);

#endif
