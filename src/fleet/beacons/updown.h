/*
 * updown - states of what runs or does not, for beacons.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_BEACONS_UPDOWN_H
#define FLEET_BEACONS_UPDOWN_H

#include "fleet/beacons/kind.h"

const char *updown_state(bool is_up);
/* The key under `name`, `running` and `previous`: true, false, or null when it was not known. */
void updown_say(struct arena *arena, const char *name, const struct beacon_change *change,
                struct value_map *data);

#endif
