/*
 * level - amounts with a limit, for beacons: over above it, ok again a margin below it.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_BEACONS_LEVEL_H
#define FLEET_BEACONS_LEVEL_H

#include "fleet/beacons/kind.h"

/* The row of the margin. */
#define LEVEL_MARGIN(type, field)                                                                  \
    PARAM("margin", DOUBLE, type, field,                                                           \
          "percent of the limit that it must fall below it to be ok again", .default_text = "5")

void level_check_margin(double margin, const struct value *given, struct diags *diags);
struct beacon_reading level_reading(const char *key, double amount, double over, double margin);
/* `state`, `previous`, `limit`, and all that the reading has. */
void level_say(struct arena *arena, const struct beacon_change *change, struct value_map *data);

#endif
