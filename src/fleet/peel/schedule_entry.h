/*
 * schedule entry - an entry of the schedule or a beacon, and its source.
 *
 * Sources are the configuration file, the settings, and manual changes (fleet/peel/overlay.h).
 * Settings override the file, except that a disabled schedule entry does not hide the file's.
 * Manual changes override both.
 *
 * Pure. Memory: the arena, and what was given. Threads: any.
 */
#ifndef FLEET_PEEL_SCHEDULE_ENTRY_H
#define FLEET_PEEL_SCHEDULE_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/value.h"
#include "fleet/peel/overlay.h"

struct arena;

/* Entries of one kind, from all sources. */
#define SCHEDULE_ENTRIES_MAX 1000

enum schedule_entry_source {
    SCHEDULE_ENTRY_OF_FILE,
    SCHEDULE_ENTRY_OF_SETTINGS,
    SCHEDULE_ENTRY_ADDED
};

struct schedule_entry {
    struct str name; /* ends with NUL */
    struct value value;
    enum schedule_entry_source source;
    bool is_changed; /* changed manually */
};
struct schedule_entries {
    bool is_on;
    VEC(struct schedule_entry) list;
    size_t left_out;     /* beyond SCHEDULE_ENTRIES_MAX */
    const char *refused; /* kind of settings that are not a map; NULL: a map */
};

struct schedule_entry_sources {
    const struct value *file, *settings; /* maps; or NULL */
    const struct overlay_part *overlay;
};

struct schedule_entries schedule_entries_merge(struct arena *arena, enum schedule_entry_kind kind,
                                               const struct schedule_entry_sources *sources);
/* NULL: no such name. */
const struct schedule_entry *schedule_entries_find(const struct schedule_entries *schedule_entries,
                                                   struct str name);
/* Does the schedule entry say so? Whether all are switched off does not count. */
bool schedule_entry_is_enabled(const struct schedule_entry *schedule_entry);
/* "settings, changed on the peel" */
const char *schedule_entry_source_text(const struct schedule_entry *schedule_entry);

#endif
