/*
 * salt_beacons - beacons of a minion as sections of ours.
 *
 * service, diskusage, memusage, load, inotify, ps and log have a counterpart; all others, and keys
 * without one, are remarks with their place.
 *
 * Pure. Memory: the arena. Threads: one.
 */
#ifndef COMMANDS_MIGRATE_SALT_BEACONS_H
#define COMMANDS_MIGRATE_SALT_BEACONS_H

#include "core/data/value.h"

struct arena;
struct diags;

/* `beacons` is a map. Returns a map with the one key `beacons`. */
struct value salt_beacons_convert(struct arena *arena, const struct value *beacons,
                                  struct diags *remarks);

#endif
